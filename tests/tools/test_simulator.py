import os

import pytest
from rule_sites import EVERYTHING, site

from tornado_proxy.config.model import BasicUser, Mount, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.templates.data import User
from tornado_proxy.tools.request_log import LoggedRequest
from tornado_proxy.tools.simulator import UPLOAD, RequestDefaults, SimulatedAnswer, Simulator, in_portions

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
    return Simulator([site(RULES, **target)], given or RequestDefaults()).ask(LoggedRequest(address, method, user=user))


def test_an_answer_has_the_key_and_the_rewrite():
    """The path is decoded, the rewrite is told by its number."""
    assert _answer("/old/a%20b") == SimulatedAnswer("/old/a b", "site", True, 1, "/new/a b")


def test_a_key_that_nothing_takes_stays():
    """Without a rewrite there is no number."""
    assert _answer("/else") == SimulatedAnswer("/else", "site", True, None, "/else")


def test_a_path_that_cannot_be_is_refused_before_the_rules():
    """The answer shows it as it was sent."""
    answer = _answer("/a/../b")
    assert (answer.path, answer.reached, answer.status) == ("/a/../b", False, 400)


def test_where_no_target_is_mounted_there_is_none():
    """The answer is 404, and no target has counted it."""
    answer = _answer("/else", mount=Mount("www.example.com", ("/",)))
    assert (answer.target, answer.status) == (None, 404)


def test_the_host_may_stand_in_the_line_the_address_or_the_command():
    """The address's own host wins, then the line's, then the one that was given for all."""
    simulator = Simulator(
        [site(RULES, mount=Mount("www.example.com", ("/",)))], RequestDefaults(host="www.example.com")
    )
    assert simulator.ask(LoggedRequest("/else")).target == "site"
    assert simulator.ask(LoggedRequest("/else", host="other")).target is None
    assert simulator.ask(LoggedRequest("http://WWW.example.com:80/else", host="other")).target == "site"


def test_a_failing_template_is_an_answer():
    """Its rewrite took the key; the status is what a client gets."""
    answer = _answer("/dots")
    assert (answer.reached, answer.number, answer.key, answer.status) == (True, 4, None, 400)


def test_a_user_is_seen_where_somebody_must_sign_in():
    """The log's user, or the one that is given for all, passes the guard that lists them."""
    assert _answer("/mine/a", user="ann", resources=STAFF).key == "/users/ann/a"
    assert _answer("/mine/a", given=RequestDefaults(User("ann")), resources=STAFF).key == "/users/ann/a"
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
    assert _answer("/team/a", given=RequestDefaults(headers=(("X-Team", "blue"),))).key == "/blue"


def test_of_an_upload_nothing_can_be_said():
    """Its file's name is in its form."""
    answer = _answer("/old/", "PUT")
    assert (answer.reached, answer.key, answer.status, answer.reason) == (False, None, None, UPLOAD)


def test_a_file_that_becomes_a_directory_has_a_key_and_is_refused():
    """The key is that of a directory, so the answer is 404."""
    answer = _answer("/file")
    assert (answer.key, answer.status) == ("/directory/", 404)


def _silent(part):
    pass


def test_work_on_few_items_is_done_here():
    """No worker is started for what is done at once."""
    assert set(in_portions(lambda items: os.getpid(), [1, 2], _silent)) == {os.getpid()}


def test_many_items_are_shared_out_and_results_keep_their_order():
    """Each portion is worked on once, in other processes, and the results are in the order of the items."""
    items = list(range(23_000))
    results = list(in_portions(lambda items: (os.getpid(), items[0], sum(items)), items, _silent, workers=2))
    assert [first for _, first, _ in results] == [0, 5_000, 10_000, 15_000, 20_000]
    assert sum(total for _, _, total in results) == sum(items)
    assert os.getpid() not in {process for process, _, _ in results}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_ends_at_one(workers):
    """What is told grows with each portion, up to the whole."""
    told = []
    list(in_portions(len, list(range(12_000)), told.append, workers=workers))
    assert told == [1 / 3, 2 / 3, 1]


def test_there_may_be_nothing_to_do():
    """No items make no portion."""
    assert list(in_portions(len, [], _silent)) == []


def test_a_failure_of_a_worker_is_raised_here():
    """What goes wrong in a worker is not lost."""
    with pytest.raises(ZeroDivisionError):
        list(in_portions(lambda items: 1 // 0, list(range(6_000)), _silent, workers=2))
