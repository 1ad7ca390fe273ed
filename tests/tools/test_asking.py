from rule_sites import EVERYTHING, site

from tornado_proxy.config.model import BasicUser, Mount, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.templates.data import User
from tornado_proxy.tools.asking import UPLOAD, Answer, Asker, Given
from tornado_proxy.tools.traffic import Request

RULES = r"""
    rewrite `^/old/(.*)$` -> "/new/$1"
    rewrite `^/mine/(.*)$` -> jinja "/users/{{ user.username }}/{{ groups[1] }}"
    rewrite `^/team/` -> jinja "/{{ request.headers['X-Team'] }}"
    rewrite `^/dots$` -> "/../x"
    rewrite `^/file$` -> "/directory/"
"""
ANN = BasicUser("ann", Secret("value", "secret"))
STAFF = (Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,)),)


def _answer(address, method="GET", user="", given=None, **target):
    return Asker([site(RULES, **target)], given or Given()).ask(Request(address, method, user=user))


def test_an_answer_has_the_key_and_the_rewrite():
    """The path is decoded, the rewrite is told by its number."""
    assert _answer("/old/a%20b") == Answer("/old/a b", "site", True, 1, "/new/a b")


def test_a_key_that_nothing_takes_stays():
    """Without a rewrite there is no number."""
    assert _answer("/else") == Answer("/else", "site", True, None, "/else")


def test_a_path_that_cannot_be_is_refused_before_the_rules():
    """The answer shows it as it was sent."""
    answer = _answer("/a/../b")
    assert (answer.path, answer.asked, answer.status) == ("/a/../b", False, 400)


def test_where_no_target_is_mounted_there_is_none():
    """The answer is 404, and no target has counted it."""
    answer = _answer("/else", mount=Mount("www.example.com", ("/",)))
    assert (answer.target, answer.status) == (None, 404)


def test_the_host_may_stand_in_the_line_the_address_or_the_command():
    """The address's own host wins, then the line's, then the one that was given for all."""
    asker = Asker([site(RULES, mount=Mount("www.example.com", ("/",)))], Given(host="www.example.com"))
    assert asker.ask(Request("/else")).target == "site"
    assert asker.ask(Request("/else", host="other")).target is None
    assert asker.ask(Request("http://WWW.example.com:80/else", host="other")).target == "site"


def test_a_failing_template_is_an_answer():
    """Its rewrite took the key; the status is what a client gets."""
    answer = _answer("/dots")
    assert (answer.asked, answer.number, answer.key, answer.status) == (True, 4, None, 400)


def test_a_user_is_seen_where_somebody_must_sign_in():
    """The log's user, or the one that is given for all, passes the guard that lists them."""
    assert _answer("/mine/a", user="ann", resources=STAFF).key == "/users/ann/a"
    assert _answer("/mine/a", given=Given(User("ann")), resources=STAFF).key == "/users/ann/a"
    assert _answer("/mine/a", user="eve", resources=STAFF).status == 401
    assert _answer("/mine/a", resources=STAFF).status == 401


def test_nobody_is_seen_where_anyone_may_come():
    """As on a server: who need not sign in does not."""
    assert _answer("/mine/a", user="ann").status == 403


def test_a_method_that_is_not_enabled_is_refused_before_anybody_signs_in():
    """405 comes before 401."""
    assert _answer("/old/a", "POST", resources=STAFF).status == 405
    assert EVERYTHING.put.enabled


def test_headers_are_given_for_all():
    """A log does not tell them."""
    assert _answer("/team/a", given=Given(headers=(("X-Team", "blue"),))).key == "/blue"


def test_of_an_upload_nothing_can_be_said():
    """Its file's name is in its form."""
    answer = _answer("/old/", "PUT")
    assert (answer.asked, answer.key, answer.status, answer.reason) == (False, None, None, UPLOAD)


def test_a_file_that_becomes_a_directory_has_a_key_and_is_refused():
    """The key is that of a directory, so the answer is 404."""
    answer = _answer("/file")
    assert (answer.key, answer.status) == ("/directory/", 404)
