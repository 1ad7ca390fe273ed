"""Attacks on access rules: a table of attacks with the tests that cover them, and tests of manipulated paths.

Most attacks are tested beside the code that refuses them; the table names those tests. Paths in every encoding are
tested here, against the access rules of a target and against the isolation of its users.
"""

import ast
import json
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
import serving
from front_proxy import ANN, BOB, FRONT
from memory_store import MemoryStore
from msgspec import structs
from quirky_s3 import quirky_s3
from serving import FORM_TYPE, WRITABLE, TornadoServer, form, part, serve
from stores import read_object, store_at

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.providers import Resource
from tornado_proxy.config.server import Server
from tornado_proxy.semantics.conditions import Conditions

TESTS = Path(__file__).parents[1]

ATTACKS = {
    "forged headers that name a user": [
        "end_to_end/test_sign_in.py::test_headers_of_other_clients_are_ignored",
        "hostile/test_attacks.py::test_no_client_claims_to_be_a_proxy",
        "auth/test_authenticator.py::test_missing_or_ambiguous_headers_are_refused"],
    "forged headers that name a client, a host or a scheme": [
        "semantics/test_request.py::test_an_untrusted_peer_is_the_client",
        "semantics/test_request.py::test_no_client_chooses_its_address"],
    "a forged certificate, and the certificate of a proxy": [
        "wire/test_tls.py::test_a_certificate_of_an_unknown_authority_is_refused",
        "wire/test_tls.py::test_the_certificate_of_a_trusted_proxy_does_not_sign_in",
        "wire/test_tls.py::test_the_certificate_of_a_proxy_that_names_its_client_does_not_sign_in"],
    "a request in the body of another one, or a body that another parser ends elsewhere": [
        "hostile/test_framing.py::test_an_upgrade_smuggles_nothing",
        "hostile/test_dialogues.py::test_a_dialogue_on_the_wire",
        "hostile/test_framing.py::test_h11_reads_the_same_requests",
        "integration/test_other_parsers.py::test_go_reads_the_same_requests",
        "s3/test_connection.py::test_invalid_http_is_an_error"],
    "heads that do not end, and more connections than there are descriptors": [
        "wire/test_connection.py::test_an_endless_head_is_a_431",
        "wire/test_server.py::test_the_longest_idle_connection_gives_way",
        "wire/test_server.py::test_no_running_request_gives_way"],
    "a client of a proxy that does not know it, with the headers of a trusted proxy": [
        "wire/test_server.py::test_a_client_without_an_address_names_no_user",
        "semantics/test_request.py::test_nobody_is_believed_behind_a_proxy_that_does_not_know_its_client"],
    "an open redirect": [
        "end_to_end/test_sign_in.py::test_a_path_that_looks_like_another_site_leads_back_to_this_one",
        "auth/test_authenticator.py::test_only_addresses_of_this_site_lead_back",
        "auth/test_oidc.py::test_no_address_leads_to_another_host"],
    "a PUT or DELETE that a page of another origin makes": [
        "end_to_end/test_sign_in.py::test_a_page_of_another_origin_writes_nothing",
        "end_to_end/test_sign_in.py::test_a_picture_logs_nobody_out",
        "auth/test_oidc.py::test_a_page_of_another_origin_logs_nobody_out",
        "end_to_end/test_sign_in.py::test_a_logout_ends_the_session_here_and_at_the_issuer",
        "auth/test_authenticator.py::test_a_page_of_another_origin_cannot_write_with_a_certificate",
        "integration/browser/test_listing.py::test_a_page_of_another_site_can_neither_upload_nor_delete"],
    "a way in that only the conversion of another proxy's configuration opens": [
        "tools/convert/test_settings.py::test_a_target_that_cannot_be_converted_is_left_out",
        "tools/convert/test_resources.py::test_a_conversion_never_grants_additional_access",
        "tools/convert/test_resources.py::test_a_resource_without_a_method_covers_nothing",
        "tools/convert/test_resources.py::test_a_resource_for_get_does_not_open_head_alone",
        "tools/convert/test_resources.py::test_rules_of_header_end_at_the_first_expression",
        "tools/convert/test_resources.py::test_a_glob_whose_ends_overlap_becomes_two_resources",
        "integration/test_convert_differential.py::test_nothing_is_let_through_that_s3_proxy_refuses"],
    "a cookie of another host, provider or kind": [
        "end_to_end/test_sign_in.py::test_a_login_cookie_is_not_a_session",
        "auth/test_cookies.py::test_a_changed_value_is_ignored",
        "auth/test_oidc.py::test_a_session_counts_for_its_host_and_provider_only",
        "auth/test_oidc.py::test_no_other_cookie_of_the_name_hides_a_session"],
    "a callback that another browser began, or that is sent again": [
        "end_to_end/test_sign_in.py::test_a_state_counts_once_and_in_its_own_browser",
        "end_to_end/test_sign_in.py::test_a_code_of_another_login_is_refused"],
    "a token of another algorithm, key, issuer or audience": [
        "end_to_end/test_sign_in.py::test_a_forged_token_opens_nothing",
        "auth/test_oidc_provider.py::test_any_other_token_is_refused",
        "auth/test_oidc_provider.py::test_a_token_signed_with_the_public_key_as_a_secret_is_refused",
        "auth/test_oidc.py::test_two_authorizations_are_refused"],
    "a session that goes on although its issuer does not renew it": [
        "auth/test_oidc.py::test_a_session_counts_as_long_as_its_address_is_verified_enough",
        "auth/test_oidc.py::test_a_session_that_cannot_be_renewed_ends",
        "auth/test_oidc.py::test_a_session_goes_on_for_a_day_without_its_issuer",
        "auth/test_oidc.py::test_a_refresh_token_is_redeemed_once",
        "auth/test_oidc.py::test_an_issuer_that_hangs_delays_few_requests"],
    "a host that was made up": [
        "end_to_end/test_sign_in.py::test_a_forged_host_changes_no_redirect",
        "routing/test_mounts.py::test_an_invalid_host_matches_no_pattern",
        "admin/test_application.py::test_an_unknown_host_is_refused"],
    "a path that leads past the access rules, or out of a user's directory": [
        "hostile/test_attacks.py::test_no_path_leads_past_the_access_rules",
        "hostile/test_attacks.py::test_no_path_leads_to_the_files_of_another_user",
        "hostile/test_attacks.py::test_no_name_of_an_upload_leads_to_the_files_of_another_user"],
    "a form for S3 that stores under another key": [
        "routing/test_plan.py::test_a_direct_upload_to_a_key_with_a_variable_is_refused",
        "integration/radosgw/test_radosgw.py::test_a_signed_form_stores_only_what_it_permits"],
    "steps of an upload in parts without the right to it, of another file or user, or with numbers that S3 does not take": [
        "web/test_perform_uploads.py::test_each_step_needs_access",
        "web/test_perform_uploads.py::test_a_limit_is_checked_at_the_end_too",
        "routing/test_upload_steps.py::test_a_step_with_an_invalid_query_is_refused",
        "s3/test_store_contract.py::test_an_upload_belongs_to_its_key",
        "hostile/test_attacks.py::test_no_upload_in_parts_of_another_user_is_touched",
        "hostile/test_attacks.py::test_no_upload_id_leads_out_of_its_directory"],
    "headers and parameters of S3's own API, such as a source to copy, another version or a grant": [
        "hostile/test_attacks.py::test_nothing_of_s3s_own_api_reaches_it"],
    "names that a client invents, to fill the metrics": [
        "telemetry/test_metrics.py::test_events_are_counted_by_their_labels",
        "telemetry/test_metrics.py::test_rewrites_beyond_a_limit_are_counted_together"],
    # S3 binds an ID to its key, and whoever may write a key by one path may replace the file anyway.
    "an upload ID sent with another path of the same file": [
        "hostile/test_attacks.py::test_an_upload_id_is_no_permission"],
    "parts that are larger than a file may be": [
        "web/test_perform_uploads.py::test_the_limit_of_a_file_holds_for_each_part",
        "web/test_perform_uploads.py::test_the_limit_of_a_file_holds_for_all_its_parts"],
    "clients that read, send or walk through directories so slowly, or so often, that others wait": [
        "hostile/test_slow_clients.py::test_slow_readers_leave_connections_for_others",
        "hostile/test_slow_clients.py::test_announced_uploads_take_no_memory",
        "hostile/test_slow_clients.py::test_a_client_does_not_fill_the_memory_of_uploads",
        "hostile/test_slow_clients.py::test_head_of_an_archive_walks_nothing",
        "hostile/test_slow_clients.py::test_archives_are_limited", "wire/test_body.py::test_a_trickling_body_times_out",
        "wire/test_connection.py::test_a_client_that_reads_a_trickle_is_disconnected"],
    "wrong passwords that keep others from signing in": [
        "auth/test_basic.py::test_wrong_passwords_from_elsewhere_never_turn_a_right_one_away",
        "auth/test_basic.py::test_a_password_whose_client_has_left_is_not_checked",
        "hostile/test_sign_in.py::test_wrong_passwords_from_elsewhere_keep_nobody_out"],
    "an issuer or a policy server that hangs or lies": [
        "wire/test_fetching.py::test_a_server_that_hangs_delays_no_other",
        "wire/test_fetching.py::test_an_answer_that_is_not_http_is_an_error",
        "wire/test_fetching.py::test_json_that_nothing_can_be_done_with_is_refused",
        "auth/test_oidc_provider.py::test_unusable_metadata_is_refused"],
    "an address in another case that evades a rule": [
        "routing/test_access.py::test_no_spelling_of_an_address_evades_a_rule"],
    "a planted copy in the directory of the last good snapshot": [
        "service/test_last_good.py::test_a_directory_of_others_is_refused",
        "service/test_last_good.py::test_no_link_is_followed"],
    "a secret in a URL of the configuration": [
        "config/test_values.py::test_a_url_is_never_printed_whole",
        "config/test_redaction.py::test_secrets_of_a_bucket_are_hidden",
        "config/test_show.py::test_the_canonical_form_has_what_differs_from_the_defaults",
        "service/test_snapshot.py::test_a_changed_secret_in_a_url_keeps_the_digest",
        "s3/test_documents.py::test_no_failure_shows_an_address",
        "telemetry/test_webhooks.py::test_no_failure_shows_the_secrets_of_a_url"],
    "the time that a wrong name or password takes": [
        "auth/test_basic.py::test_a_check_of_an_unlisted_name_takes_as_long"],
}  # fmt: skip


@pytest.mark.parametrize("name", [name for names in ATTACKS.values() for name in names])
def test_each_test_of_the_table_exists(name):
    file, _, function = name.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


# Encodings of `..`, and of the slashes before and after it.
_DOTS = (
    "..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25%32%65..", "..;", "..%00", "..%20", "%c0%ae%c0%ae", "%e0%80%ae.", "．．", "...", "\t..",
)  # fmt: skip
_BEFORE, _AFTER = ("/", "%2f", "\\", "%5c", "//"), ("/", "%2F", "%252f", "%5c", "%c0%af")
_TRAVERSALS = [f"{before}{dots}{after}" for dots, before, after in product(_DOTS, _BEFORE, _AFTER)]

# Other spellings of `/private/secret`, without `..`.
_SPELLINGS = (
    "//private/secret", "/./private/secret", "/%2e/private/secret", "/private//secret", "/private/./secret", "/private%2fsecret",
    "/%70rivate/secret", "/private;x/secret", "/private/secret/", "/private/secret%00", "/private/secret%20", "/private/secret#/public/x",
    "/PRIVATE/secret", "/private/secret?/public/x", "/private\\secret", "/ｐrivate/secret", "/private/secret;/public/x", "/private",
    "http://files.test/private/secret", "http://files.test/public/../private/secret", "http://files.test/public/%2e%2e/private/secret",
)  # fmt: skip

SECRET = b"what nobody else may read"


async def _request(site, method, target, headers=None, body=b""):
    async with site.connect() as client:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "files.test", **(headers or {})}.items())
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        await client.send(f"{method} {target} HTTP/1.1\r\n{lines}{length}\r\n".encode() + body)
        return await client.receive(method)


@pytest.mark.parametrize("name", ["X-Real-Ip", "X-Forwarded-For"])
@pytest.mark.parametrize(
    ("trusted", "claimed", "status"), [("10.0.0.0/8", "10.0.0.1", 401), ("127.0.0.0/8", "127.0.0.1", 200)]
)
async def test_no_client_claims_to_be_a_proxy(monkeypatch, name, trusted, claimed, status):
    """In a program whose server takes addresses from headers, the connection's own address makes a proxy a trusted one."""
    monkeypatch.setattr(serving, "make_server", lambda application, _limits: TornadoServer(application, xheaders=True))
    parts = {**FRONT, "server": Server(trusted_proxies=(trusted,))}
    async with serve({"a": SECRET}, resources=[Resource("/**", provider="front")], **parts) as site:
        assert (await site.request("GET", "/a", {**BOB, name: claimed})).status == status


async def test_no_path_leads_past_the_access_rules():
    """No spelling of a path reads a file without the sign-in that its access rule requires."""
    store = MemoryStore({"private/secret": SECRET, "public/x": b"x"})
    resources = [Resource("/public/**", white_list=True), Resource("/private/**", provider="front")]
    paths = [f"/public{traversal}private/secret" for traversal in _TRAVERSALS]
    async with serve(store, resources=resources, **FRONT) as site:
        assert (await _request(site, "GET", "/private/secret", BOB)).body == SECRET
        for path in (*paths, *_SPELLINGS):
            answer = await _request(site, "GET", path)
            assert answer.status in (302, 400, 401, 403, 404), path
            assert SECRET not in answer.body, path


ISOLATED = structs.replace(WRITABLE, get=GetAction(user_isolation=True))
ALL_METHODS = [Resource("/**", ("GET", "PUT", "DELETE"), provider="front")]


def _homes() -> MemoryStore:
    return MemoryStore({"ann/secret": SECRET, "bob/x": b"x"})


async def _check_homes(store: MemoryStore) -> None:
    """Asserts that Ann's file is unchanged and that every other file is Bob's."""
    opened = await store.open("ann/secret", Conditions())
    assert b"".join([chunk async for chunk in opened.chunks()]) == SECRET
    keys = store.keys()
    assert all(key.startswith("bob/") for key in keys if key != "ann/secret")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_no_path_leads_to_the_files_of_another_user(method):
    """No path reads or changes another user's files: the user's directory is put before the completely decoded path."""
    store = _homes()
    paths = [
        *(f"{traversal}ann/secret" for traversal in _TRAVERSALS),
        "/ann/secret",
        "//ann/secret",
        "/..%2fann%2fsecret",
    ]
    async with serve(store, actions=ISOLATED, resources=ALL_METHODS, **FRONT) as site:
        body = b"changed" if method == "PUT" else b""
        for path in paths:
            answer = await _request(site, method, path if path.startswith("/") else f"/{path}", BOB, body)
            assert SECRET not in answer.body, path
            assert answer.headers.get("content-length") != str(len(SECRET)), path
    await _check_homes(store)


async def test_no_name_of_an_upload_leads_to_the_files_of_another_user():
    """A file name is cut to the part after its last slash and isn't decoded, so it leads to no other directory."""
    store = _homes()
    traversals = [f"x{traversal}ann" for traversal in _TRAVERSALS]
    names = [
        *(f"{traversal}/secret" for traversal in traversals),
        *(f"{traversal}%2fsecret" for traversal in traversals),
        "..",
        "..\\ann",
    ]
    async with serve(store, actions=ISOLATED, resources=ALL_METHODS, **FRONT) as site:
        for name in names:
            body = form(part("file", b"changed", filename=name))
            await _request(site, "PUT", "/d/", {**FORM_TYPE, **BOB}, body)
    await _check_homes(store)


async def test_no_upload_in_parts_of_another_user_is_touched():
    """Bob can't continue, list, complete or abort Ann's upload in parts, although he knows its ID."""
    store = _homes()
    async with serve(store, actions=ISOLATED, resources=ALL_METHODS, **FRONT) as site:
        started = await _request(site, "PUT", "/new?upload=start&size=5", ANN)
        upload = json.loads(started.body)["id"]
        await _request(site, "PUT", f"/new?upload=part&id={upload}&number=1", ANN, b"ann's")
        paths = ("/new", "/ann/new", "/..%2fann/new", "//ann/new")
        steps = ("part&number=1", "part&number=2", "parts", "complete&size=5", "abort")
        for path, step in product(paths, steps):
            answer = await _request(site, "PUT", f"{path}?upload={step}&id={upload}", BOB, b"changed")
            assert answer.status in (400, 404), (path, step)
        completed = await _request(site, "PUT", f"/new?upload=complete&id={upload}&size=5", ANN)
    assert completed.status == 201
    assert await read_object(store, "ann/new") == b"ann's"


class _DirectoriesStore(MemoryStore):
    """A store that keeps the parts of an upload in a directory, and joins its name to the ID that a client sends."""

    async def put_part(self, key, upload, part):
        self.walked = upload

    list_parts = abort_upload = put_part


@pytest.mark.parametrize("step", ["part&number=1", "parts", "complete&size=5", "abort"])
@pytest.mark.parametrize(
    "upload", ["..", ".", "../..", "../../bob", "x/../..", "x/..", "/..", "..\\..", "x\\..", "./x"]
)
async def test_no_upload_id_leads_out_of_its_directory(step, upload):
    """An ID with dot segments, for which a gateway to a file system would remove other files, never reaches the store."""
    store = _DirectoriesStore()
    store.add("bob/file", SECRET)
    store.walked = None
    async with serve(store) as site:
        for sent in (upload.replace("\\", "%5C"), quote(upload, safe="")):
            answer = await _request(site, "PUT", f"/a?upload={step}&id={sent}", body=b"12345")
            assert (answer.status, store.walked) == (400, None)


async def test_an_upload_id_is_no_permission():
    """An ID that was begun at one path of a file counts at another one only for those who may write there."""
    store = MemoryStore()
    rules = "rewrite `^/(?:in|also|closed)/(.+)$` -> `/$1`"
    resources = [
        Resource(f"/{name}/**", ("PUT",), white_list=name != "closed", provider=None if name != "closed" else "front")
        for name in ("in", "also", "closed")
    ]
    actions = Actions(put=PutAction(enabled=True))
    async with serve(store, actions=actions, resources=resources, rules=rules, **FRONT) as site:
        started = await _request(site, "PUT", "/in/a?upload=start&size=5")
        upload = json.loads(started.body)["id"]
        steps = ("part&number=1", "parts", "complete&size=5", "abort")
        refused = [await _request(site, "PUT", f"/closed/a?upload={step}&id={upload}", body=b"12345") for step in steps]
        sent = await _request(site, "PUT", f"/also/a?upload=part&number=1&id={upload}", body=b"12345")
        completed = await _request(site, "PUT", f"/in/a?upload=complete&size=5&id={upload}")
    assert {answer.status for answer in refused} == {401}
    assert (sent.status, completed.status) == (204, 201)


OF_S3 = (
    "x-amz-copy-source", "x-amz-acl", "x-amz-grant-read", "x-amz-meta-a", "x-amz-tagging", "x-amz-storage-class", "x-amz-date",
    "x-amz-security-token", "x-amz-website-redirect-location", "x-amz-server-side-encryption", "x-amz-request-payer", "x-amz-version-id",
    "x-amz-bypass-governance-retention", "x-amz-checksum-sha256", "x-amz-checksum-mode", "Authorization", "Cookie", "X-Forwarded-For",
    "Content-Disposition", "Content-Language", "Cache-Control", "Expires", "versionId", "acl", "tagging", "policy", "partNumber", "uploadId",
    "uploads", "response-content-type", "X-Amz-Signature", "X-Amz-Credential", "list-type", "prefix", "delimiter", "continuation-token",
)  # fmt: skip


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_nothing_of_s3s_own_api_reaches_it(reads):
    """No header and no parameter of a client is one of a call to S3, nor is a field of a form."""
    mark = {name: f"MARK{number}" for number, name in enumerate(OF_S3)}
    fields = [part(name, text.encode()) for name, text in mark.items()]
    body = form(*fields, part("file", b"content", filename="c"))
    asked = [("GET", "/a", {}, b""), ("HEAD", "/a", {}, b""), ("GET", "/d/", {}, b""), ("PUT", "/b", {}, b"content")]
    asked += [("PUT", "/d/", FORM_TYPE, body), ("DELETE", "/a", {}, b""), ("PUT", "/e?upload=start&size=7", {}, b"")]
    steps = ("part&number=1", b"content"), ("parts", b""), ("complete&size=7", b""), ("abort", b"")
    asked += [("PUT", f"/e?upload={step}", {}, content) for step, content in steps]
    actions = Actions(put=PutAction(enabled=True, raw_uploads=True), delete=DeleteAction(enabled=True))
    upload, statuses = "", []
    async with quirky_s3() as s3, store_at(s3.url, reads) as store:
        s3.objects["a"] = b"x", {}
        async with serve(store, actions=actions) as site:
            for method, target, headers, content in asked:
                query = f"{'&' if '?' in target else '?'}id={upload}&{urlencode(mark)}"
                answer = await _request(site, method, f"{target}{query}", {**mark, **headers}, content)
                upload = json.loads(answer.body)["id"] if "start" in target else upload
                statuses.append(answer.status)
    assert statuses[3:] == [201, 201, 204, 200, 204, 200, 201, 404]
    for each in s3.requests:
        assert "MARK" not in f"{each.key} {each.query} {each.headers} {each.body}"
