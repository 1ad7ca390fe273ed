"""Features against each other: what holds where two of them meet, and the tests that show it.

Each pair of features is listed once, or declared unable to meet. Pairs that no other test covers are tested here.
"""

import ast
import gzip
import io
import json
import tarfile
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from files import Files
from front_proxy import ANN, BOB, FRONT, Policy
from http2_client import connect
from in_force import generation_of
from memory_store import MemoryStore
from quirky_s3 import quirky_s3
from serving import FORM_TYPE, WRITABLE, entries_of, files_in, form, part, serve
from stores import store_at

from tornado_proxy.admin.simulation import try_draft
from tornado_proxy.config.actions import Actions, GetAction, PutAction, Webhook
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount, ObjectCache, Target
from tornado_proxy.config.providers import OpaServer, Resource
from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.pages.custom import FILE_HEADERS, Recipe
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import ObjectUsed
from tornado_proxy.tools.simulator import RequestDefaults, Simulator, logged

TESTS = Path(__file__).parents[1]

FEATURES = (
    "nested mounts", "isolation", "resources", "policies", "rewrites by user", "index", "slash redirect", "listings", "README",
    "previews", "archives", "parts", "direct uploads", "forms", "cache", "compression", "CORS", "custom pages", "webhooks",
    "sign-in away", "resumed reads", "HTTP/2", "tried files", "website redirects", "public path", "health path", "folded keys",
    "conditional writes", "checksums", "caPath", "drafts", "readOnly", "redirect rules",
)  # fmt: skip

_HERE, _OTHER, _ATTACKS = "hostile/test_interactions.py", "hostile/test_other_paths.py", "hostile/test_attacks.py"
_RESUMED, _BOTH = "hostile/test_resumed_reads.py", "hostile/test_both_protocols.py"
_FOLDED = "hostile/test_folded_keys.py"
_PUBLIC, _QUIRKS, _DRAFTS = "web/test_public_path.py", "s3/test_quirks.py", "admin/test_simulation.py"
_VIEWS = ("index", "slash redirect", "listings", "README", "archives")
_WRITES = ("parts", "direct uploads", "forms")
_DECIDING = ("nested mounts", "resources", "policies")
_READING = (*_VIEWS, "previews", "tried files", "website redirects")
_S3 = ("conditional writes", "checksums", "caPath")

# A feature, those that it meets, what holds, and the tests that show it.
HELD = (
    ("nested mounts", ("isolation", "rewrites by user"), "the target that answers a path isolates and rewrites; the outer one does not",
     [f"{_HERE}::test_the_target_that_answers_decides_about_isolation_and_rules"]),
    ("nested mounts", ("resources", "policies"), "the resources of the target that answers a path decide, for each path shown elsewhere too",
     [f"{_OTHER}::test_an_archive_has_nothing_of_a_target_mounted_inside", "routing/test_decide.py::test_a_path_beside_may_belong_to_another_target"]),
    ("nested mounts", ("index",), "an index document that a mount hides is not shown",
     [f"{_OTHER}::test_a_closed_index_document_is_not_shown"]),
    ("nested mounts", ("slash redirect",), "the path of a mount without its slash belongs to the mount",
     ["routing/test_decide.py::test_a_path_beside_may_belong_to_another_target", "routing/test_plan.py::test_a_mount_path_without_its_slash_is_redirected"]),
    ("nested mounts", ("listings",), "the directory of a mount is listed if a request for it would not be an error, a file in its place never",
     [f"{_OTHER}::test_a_listing_shows_a_mount_that_would_answer", f"{_OTHER}::test_a_listing_shows_no_file_in_place_of_a_mount"]),
    ("nested mounts", ("README",), "a README that a mount hides is not shown", [f"{_OTHER}::test_a_readme_of_another_answer_is_not_shown"]),
    ("nested mounts", ("archives",), "an archive has nothing that another target answers",
     [f"{_OTHER}::test_an_archive_has_nothing_of_a_target_mounted_inside", f"{_OTHER}::test_a_mount_at_another_host_closes_nothing_here"]),
    ("nested mounts", ("forms",), "a form stores no file at the path of a mount",
     ["routing/test_decide.py::test_a_form_stores_nothing_that_another_answer_would_hide"]),
    ("nested mounts", ("parts", "direct uploads", "webhooks", "sign-in away"),
     "uploads, webhooks and providers are those of the target that answers", [f"{_HERE}::test_each_option_is_of_the_target_that_answers"]),
    ("nested mounts", ("custom pages",), "a page is that of the target that answers, or else the general one",
     ["pages/test_custom.py::test_the_page_of_a_target_replaces_the_general_one"]),
    ("nested mounts", ("cache",), "each target has a store and a cache of its own", ["service/test_building.py::test_a_new_cache_gets_a_new_store"]),

    ("isolation", ("resources",), "without a user who signed in for the path, an isolated target answers 403",
     ["routing/test_decide.py::test_isolation_requires_a_user"]),
    ("isolation", ("policies",), "a policy sees the requested path, not the user's key",
     [f"{_HERE}::test_a_policy_sees_the_path_and_never_the_key"]),
    ("isolation", ("rewrites by user",), "a rewrite that leads out of the user's directory is a 403",
     ["routing/test_decide.py::test_rules_cannot_leave_the_directory_of_an_isolated_user"]),
    ("isolation", ("archives",), "an archive has the user's own files", [f"{_HERE}::test_every_view_of_an_isolated_user_is_the_users_own"]),
    ("isolation", ("index", "slash redirect", "listings", "README"), "they show what the user's own directory has, and nothing of others",
     [f"{_HERE}::test_every_view_of_an_isolated_user_is_the_users_own"]),
    ("isolation", ("forms",), "no name leads to another user's directory",
     [f"{_ATTACKS}::test_no_name_of_an_upload_leads_to_the_files_of_another_user"]),
    ("isolation", ("parts",), "no step touches another user's upload", [f"{_ATTACKS}::test_no_upload_in_parts_of_another_user_is_touched"]),
    ("isolation", ("direct uploads",), "the form for S3 is for the user's key", [f"{_HERE}::test_a_form_for_s3_is_for_the_users_own_key"]),
    ("isolation", ("cache",), "no shared cache keeps an isolated file, whatever the object says",
     ["web/test_handlers.py::test_the_file_of_an_isolated_user_is_not_cached_publicly"]),
    ("isolation", ("webhooks",), "a webhook names the user's key", [f"{_HERE}::test_every_view_of_an_isolated_user_is_the_users_own"]),
    ("isolation", ("compression", "CORS", "custom pages"), "they work on the user's answer", [f"{_HERE}::test_an_isolated_users_answers_pass_every_filter"]),
    ("isolation", ("sign-in away",), "nobody's directory is shown or written to", [f"{_HERE}::test_an_isolated_target_shows_nothing_while_its_provider_is_away"]),

    ("resources", ("policies",), "the policy is asked after the resource permits, about the same path",
     ["routing/test_decide.py::test_a_policy_server_is_asked_about_the_user"]),
    ("resources", ("rewrites by user", "cache"), "access is decided by the requested path, before rewrites and before the cache",
     ["routing/test_decide.py::test_a_refused_request_is_not_rewritten", f"{_HERE}::test_a_cached_object_needs_access_each_time"]),
    ("resources", ("index",), "a closed index document is not shown; the listing, without it, is",
     [f"{_OTHER}::test_a_closed_index_document_is_not_shown"]),
    ("resources", ("slash redirect",), "a closed directory is a 404, as one that is not there",
     [f"{_OTHER}::test_a_slash_redirect_does_not_show_a_closed_directory"]),
    ("resources", ("listings", "previews"), "entries that need another sign-in are not listed, so none is previewed; no token names one",
     [f"{_OTHER}::test_a_listing_hides_what_needs_a_sign_in", "hostile/test_closed_names.py::test_closed_names_change_no_answer"]),
    ("resources", ("README",), "a README is shown to those who may read it", [f"{_OTHER}::test_a_readme_of_another_answer_is_not_shown"]),
    ("resources", ("archives",), "an archive has the files that its viewer may request",
     ["web/test_archive.py::test_an_archive_has_only_accessible_files"]),
    ("resources", ("forms",), "access is checked for the directory and again for the file",
     ["web/test_incoming_file.py::test_an_upload_needs_access_to_its_file"]),
    ("resources", ("parts",), "each step needs access to the file", ["web/test_perform_uploads.py::test_each_step_needs_access"]),
    ("resources", ("direct uploads",), "a form for S3 is refused as the upload would be",
     ["web/test_incoming_file.py::test_a_form_for_s3_is_refused_as_the_upload_would_be"]),
    ("resources", ("compression", "custom pages"), "a refusal is an answer like others: its page may be custom, and it is `no-store`",
     ["web/test_custom_pages.py::test_an_error_page_can_be_custom"]),
    ("resources", ("CORS",), "a preflight needs no sign-in, the request does", ["web/test_filters.py::test_a_preflight_is_answered_without_a_sign_in"]),
    ("resources", ("webhooks",), "a refused request is not reported", ["web/test_perform.py::test_a_request_that_does_not_succeed_is_not_reported"]),
    ("resources", ("sign-in away",), "open paths are answered without the provider", [f"{_HERE}::test_an_open_page_does_not_ask_a_provider_that_is_away"]),

    ("policies", ("rewrites by user",), "a policy sees the requested path, not the rewritten key",
     [f"{_HERE}::test_a_policy_sees_the_path_and_never_the_key"]),
    ("policies", ("index", "slash redirect", "README"), "the policy is asked about the path of what is shown beside",
     [f"{_OTHER}::test_a_policy_is_asked_about_what_is_shown_beside"]),
    ("policies", ("listings", "previews", "archives"), "a policy is asked about the directory, not about each entry; an archive leaves out policed files",
     [f"{_OTHER}::test_a_listing_asks_a_policy_once", "web/test_archive.py::test_files_that_need_a_policy_server_are_left_out"]),
    ("policies", _WRITES, "however a file is written, the policy is asked about its path",
     [f"{_OTHER}::test_a_policy_sees_the_path_of_the_file_that_is_written"]),
    ("policies", ("cache",), "a policy is asked for each request, also for a cached object", [f"{_HERE}::test_a_cached_object_needs_access_each_time"]),
    ("policies", ("compression", "CORS", "custom pages", "webhooks"), "a denial has its page, the headers of CORS, and is not reported",
     [f"{_HERE}::test_a_refusal_passes_every_filter"]),
    ("policies", ("sign-in away",), "nobody signs in, so no policy is asked; a policy server that is away is a 500",
     ["web/test_sign_in.py::test_a_policy_server_decides_the_status"]),

    ("rewrites by user", _VIEWS, "what is shown beside is rewritten for the same user",
     [f"{_HERE}::test_what_is_shown_beside_is_rewritten_for_the_user", "routing/test_plan.py::test_the_slash_redirect_comes_after_the_rewrite"]),
    ("rewrites by user", ("forms", "parts", "direct uploads"), "the key of each way to write is the rewritten one",
     ["web/test_incoming_file.py::test_the_path_of_an_upload_is_rewritten", f"{_HERE}::test_each_way_to_write_has_the_rewritten_key"]),
    ("rewrites by user", ("cache",), "the cache knows object keys, so two users' rewrites never share an object; shared caches keep none of it",
     ["web/test_filters.py::test_the_answer_to_a_user_is_not_cached_publicly"]),
    ("rewrites by user", ("compression", "CORS", "custom pages", "webhooks"),
     "a template that reads a user where nobody is signed in is a 403 with its page, and is not reported", [f"{_HERE}::test_a_refusal_passes_every_filter"]),
    ("rewrites by user", ("previews",), "pages name the requested path", ["end_to_end/test_crawl.py::test_no_page_shows_the_prefix_or_the_rewritten_key"]),
    ("rewrites by user", ("sign-in away",), "no rule is asked before the user is known", [f"{_HERE}::test_what_has_moved_is_told_to_those_who_may_know"]),

    ("index", ("listings",), "the listing follows where there is no index document", ["routing/test_plan.py::test_an_index_document_is_tried_before_the_listing"]),
    ("index", ("slash redirect",), "a directory is redirected to its slash, where its index document is",
     ["routing/test_plan.py::test_the_slash_redirect_comes_after_the_rewrite"]),
    ("index", ("archives",), "a subdirectory with an index document has only that one", ["web/test_archive.py::test_a_directory_with_an_index_has_only_its_index"]),
    ("index", ("cache", "compression", "CORS", "custom pages", "webhooks"), "an index document is served as a file, without the page of a listing",
     [f"{_HERE}::test_an_index_document_is_a_file_for_every_filter"]),
    ("index", ("sign-in away",), "an open index document asks no provider", [f"{_HERE}::test_an_open_page_does_not_ask_a_provider_that_is_away"]),

    ("slash redirect", ("cache",), "the redirect is `no-cache`, and private for a user",
     ["web/test_filters.py::test_the_answer_to_a_user_is_not_cached_publicly"]),
    ("slash redirect", ("CORS",), "the redirect has the headers of CORS", ["web/test_filters.py::test_every_answer_has_the_cors_headers"]),
    ("slash redirect", ("sign-in away",), "nobody learns of a directory while its provider is away",
     [f"{_HERE}::test_an_isolated_target_shows_nothing_while_its_provider_is_away"]),
    ("slash redirect", ("webhooks", "custom pages"), "a redirect is no success: no webhook; a 404 may have its page",
     ["web/test_perform.py::test_a_request_that_does_not_succeed_is_not_reported"]),

    ("listings", ("README",), "the first page shows the README, unless hidden", ["web/test_browse.py::test_a_readme_is_shown_below_the_list"]),
    ("listings", ("previews",), "a preview is a request of its own; the page's policy allows S3 only with signed URLs",
     ["web/test_browse.py::test_the_policy_of_a_page_allows_s3_if_necessary"]),
    ("listings", ("archives",), "a listing links to its archives; hidden names are in neither", ["web/test_archive.py::test_a_listing_links_to_its_archives", "hostile/test_closed_names.py::test_closed_names_change_no_answer"]),
    ("listings", ("parts", "forms"), "an upload is offered to those who may", ["web/test_browse.py::test_only_permitted_actions_are_offered"]),
    ("listings", ("direct uploads",), "the page's policy allows S3 only where the viewer may upload straight",
     ["web/test_browse.py::test_the_policy_of_a_page_allows_s3_if_necessary"]),
    ("listings", ("cache",), "listings are not kept, and private for a user", ["web/test_filters.py::test_the_answer_to_a_user_is_not_cached_publicly"]),
    ("listings", ("compression",), "a page is compressed whole", ["web/test_filters.py::test_listings_are_compressed_in_one_piece"]),
    ("listings", ("CORS",), "a listing has the headers of CORS", ["web/test_filters.py::test_every_answer_has_the_cors_headers"]),
    ("listings", ("custom pages",), "a page of one's own gets the entries that the viewer may see, and no others",
     [f"{_HERE}::test_a_custom_listing_has_no_closed_entry"]),
    ("listings", ("webhooks",), "a listing is reported once, with its prefix", [f"{_HERE}::test_a_listing_with_a_readme_is_reported_once"]),
    ("listings", ("sign-in away",), "an open listing asks no provider about its entries", [f"{_HERE}::test_an_open_page_does_not_ask_a_provider_that_is_away"]),

    ("README", ("webhooks",), "reading a README for a page is not reported", [f"{_HERE}::test_a_listing_with_a_readme_is_reported_once"]),
    ("README", ("cache", "compression", "CORS", "custom pages", "sign-in away"), "a README is a part of its page, and bounded",
     ["web/test_browse.py::test_a_listing_does_not_wait_for_a_slow_readme", "pages/test_readme.py::test_the_html_of_a_readme_has_a_limit"]),
    ("README", ("previews",), "a README has no scripts, so it starts no preview", ["pages/test_readme.py::test_markdown_is_sanitised"]),

    ("previews", ("cache", "compression", "CORS", "sign-in away"), "a preview is a request like others, with the viewer's rights",
     ["integration/browser/test_viewer.py::test_pictures_are_turned_over_by_keys_and_buttons"]),
    ("previews", ("forms", "parts"), "an uploaded file that may run scripts is an attachment, also where a page shows it",
     ["web/test_answer.py::test_uploaded_html_is_an_attachment"]),

    ("archives", ("cache",), "an archive is `no-cache` and private for a user; a file that changes ends it",
     ["web/test_archive.py::test_a_changed_file_ends_the_archive"]),
    ("archives", ("compression",), "an archive may be compressed as any type that is configured", [f"{_HERE}::test_an_archive_can_be_compressed"]),
    ("archives", ("CORS", "custom pages"), "an archive is sent as it is, where a page of one's own lists its directory",
     [f"{_HERE}::test_an_archive_can_be_compressed"]),
    ("archives", ("webhooks",), "an archive is reported as the GET of its directory", [f"{_HERE}::test_an_archive_is_reported_once"]),
    ("archives", ("sign-in away",), "files that need a sign-in are left out without asking for it",
     [f"{_HERE}::test_an_open_page_does_not_ask_a_provider_that_is_away"]),

    ("parts", ("cache", "webhooks", "custom pages"), "the end of an upload forgets the object, is reported once, and has the page of an upload",
     ["storage/test_cache.py::test_a_write_is_visible_at_once", "web/test_perform.py::test_an_upload_in_parts_is_reported_once"]),
    ("forms", ("cache", "webhooks", "custom pages"), "an upload forgets the object, is reported, and may have its page",
     ["storage/test_cache.py::test_a_write_is_visible_at_once", "web/test_perform.py::test_an_upload_is_reported_with_its_file",
      "web/test_custom_pages.py::test_answers_to_uploads_and_removals_can_be_custom"]),
    ("direct uploads", ("cache", "webhooks", "custom pages"), "S3 answers: the answer with the form is `no-store`, nothing is reported, no page is used",
     ["web/test_incoming_file.py::test_a_client_can_get_a_form_for_s3"]),
    ("CORS", _WRITES, "a page of another origin writes only where CORS allows it", ["web/test_handlers.py::test_a_change_from_another_origin_is_refused"]),
    ("sign-in away", _WRITES, "a write without a sign-in is refused before its body is read",
     ["web/test_incoming_file.py::test_expect_can_be_answered_with_a_refusal"]),

    ("cache", ("compression",), "the memory holds plain objects; a compressed answer has a weak ETag",
     ["web/test_filters.py::test_a_compressed_file_has_its_own_etag_and_headers"]),
    ("cache", ("CORS", "custom pages", "webhooks"), "an answer from memory has the headers of CORS and of pages, and is reported",
     [f"{_HERE}::test_a_file_from_memory_passes_every_filter"]),
    ("cache", ("sign-in away",), "an answer to a user is private unless the object says `public` or `s-maxage`; a refusal is `no-store`",
     ["semantics/test_conditions.py::test_an_answer_to_one_user_is_private", "web/test_sign_in.py::test_the_cookies_of_a_sign_in_are_sent"]),
    ("compression", ("CORS", "custom pages", "webhooks"), "the headers of CORS and of pages stay; the size that is reported is the object's",
     [f"{_HERE}::test_a_file_from_memory_passes_every_filter"]),
    ("CORS", ("custom pages", "sign-in away"), "errors and challenges have the headers of CORS too",
     ["web/test_filters.py::test_every_answer_has_the_cors_headers", f"{_HERE}::test_a_refusal_passes_every_filter"]),
    ("CORS", ("webhooks",), "a request of another origin is reported as any other", [f"{_HERE}::test_a_file_from_memory_passes_every_filter"]),
    ("custom pages", ("webhooks",), "a page that fails is a 500, and nothing is reported", ["web/test_custom_pages.py::test_a_failing_page_is_a_default_500"]),
    ("sign-in away", ("compression", "custom pages", "webhooks"), "a provider that is away is an error with its page, and is not reported as a request",
     [f"{_HERE}::test_a_refusal_passes_every_filter"]),

    ("resumed reads", ("index", "tried files", "webhooks"), "the body is whole and reported once, or cut and not reported", [f"{_RESUMED}::test_a_resumed_read_is_reported_once"]),
    ("resumed reads", ("README",), "a README is read to its end", [f"{_RESUMED}::test_a_readme_is_whole"]),
    ("resumed reads", ("archives",), "an archive goes on, or is cut", [f"{_RESUMED}::test_a_resumed_file_of_an_archive_is_whole"]),
    ("resumed reads", ("cache",), "an object is kept whole; one that changes while it is read is not",
     [f"{_RESUMED}::test_a_resumed_object_is_kept", f"{_RESUMED}::test_an_object_that_changes_meanwhile_is_not_kept"]),
    ("resumed reads", ("compression", "CORS", "previews"), "what passes a body on, or asks for a part of it, does not notice",
     [f"{_RESUMED}::test_a_resumed_body_is_compressed_whole", f"{_RESUMED}::test_a_part_that_breaks_off_is_whole"]),
    ("resumed reads", ("custom pages",), "a page in the bucket is read to its end", [f"{_RESUMED}::test_a_page_in_the_bucket_is_whole"]),
    ("resumed reads", ("HTTP/2",), "a stream goes on; one whose window is shut holds no connection",
     [f"{_RESUMED}::test_a_body_that_breaks_off_is_whole_by_http2", "hostile/test_http2.py::test_shut_windows_hold_no_connections_to_s3"]),

    ("tried files", ("nested mounts", "resources", "policies", "sign-in away"), "each address is decided by its own path, and passed over if refused",
     [f"{_OTHER}::test_a_tried_address_lets_nobody_in", f"{_OTHER}::test_a_tried_address_of_another_target_is_passed_over",
      f"{_OTHER}::test_a_policy_is_asked_about_each_address_that_is_tried"]),
    ("tried files", ("isolation", "rewrites by user"), "each address is rewritten, and in the user's own directory, as a request for it would be",
     ["routing/test_plan.py::test_isolated_users_try_addresses_of_their_own", "routing/test_plan.py::test_each_address_that_is_tried_is_rewritten"]),
    ("tried files", ("index", "listings", "slash redirect"), "what a directory has comes after the last `$path`, before a page for all addresses",
     ["routing/test_plan.py::test_a_path_with_a_closing_slash_is_tried_without_it",
      "routing/test_plan.py::test_the_slash_redirect_comes_after_the_attempts_of_the_path"]),
    ("tried files", ("README", "archives", "previews"), "an entry of a directory is the object at its own address",
     [f"{_OTHER}::test_an_archive_has_the_objects_of_a_site_that_tries_addresses"]),
    ("tried files", ("cache", "compression", "CORS", "custom pages", "webhooks"), "a file that is found is served as at its own address",
     [f"{_HERE}::test_an_index_document_is_a_file_for_every_filter"]),
    ("website redirects", ("nested mounts", "resources", "policies", "sign-in away"),
     "access is decided by the requested path; where an object leads is an address like others, decided when it is requested",
     [f"{_HERE}::test_a_redirect_of_an_object_is_for_those_who_may_read_it"]),
    ("website redirects", ("isolation",), "a user's object leads below the user's own directory, or nowhere",
     ["routing/test_plan.py::test_an_object_of_an_isolated_user_redirects_below_the_users_directory"]),
    ("website redirects", ("rewrites by user", "cache", "compression", "CORS", "custom pages", "webhooks"),
     "the object that the rules lead to redirects, from memory too; one that leads nowhere is a 404 with its page; nothing is reported",
     [f"{_HERE}::test_a_redirect_of_an_object_is_an_answer_for_every_filter"]),
    ("website redirects", ("index", "tried files"), "an index document redirects, and so does an address that is tried",
     ["web/test_perform.py::test_an_index_document_can_redirect"]),
    ("website redirects", ("listings", "README", "archives", "previews"), "a directory has the object as it is stored",
     [f"{_HERE}::test_a_directory_has_an_object_that_redirects_as_it_is_stored"]),
    ("HTTP/2", ("nested mounts", "isolation", "resources", "policies", "rewrites by user", *_VIEWS, "cache", "compression", "CORS",
                "custom pages", "webhooks", "sign-in away", "previews", "direct uploads", "tried files", "website redirects"),
     "a request is decided and answered as the same one of HTTP/1.1", [f"{_BOTH}::test_both_protocols_have_one_answer"]),
    ("HTTP/2", ("forms", "parts"), "a body ends with its stream or its trailers, outlives the farewell of a shut-down, and is not asked for once refused",
     [f"{_BOTH}::test_both_protocols_have_one_answer", f"{_BOTH}::test_trailers_end_an_upload", f"{_BOTH}::test_an_upload_outlives_the_farewell",
      "wire/test_http2_stream.py::test_a_body_is_not_asked_for_after_its_refusal"]),

    ("public path", ("nested mounts", "isolation", "resources", "policies", "rewrites by user"), "they decide about the path without it",
     [f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only"]),
    ("public path", (*_VIEWS, "previews"), "links, and what the scripts of a page ask for, begin with it",
     [f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only", f"{_PUBLIC}::test_all_that_clients_are_told_has_the_public_path"]),
    ("public path", _WRITES, "the address of what was written, or is to be, begins with it",
     [f"{_PUBLIC}::test_all_that_clients_are_told_has_the_public_path", f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only"]),
    ("public path", ("cache", "compression", "CORS", "webhooks", "HTTP/2", "tried files"), "they are the same as without it",
     [f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only"]),
    ("public path", ("custom pages",), "entries have it in their links; a template can read it",
     [f"{_PUBLIC}::test_a_custom_page_can_begin_its_links_with_the_public_path"]),
    ("public path", ("sign-in away",), "the steps, the way back and the cookies have it", ["auth/test_oidc.py::test_a_sign_in_behind_a_proxy_that_takes_a_path_off"]),
    ("public path", ("website redirects",), "an object's redirect on this host begins with it",
     ["routing/test_plan.py::test_an_object_of_an_isolated_user_redirects_below_the_users_directory",
      f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only"]),
    ("health path", ("nested mounts", "isolation", "resources", "policies", "rewrites by user", "sign-in away", "index", "tried files",
                     "website redirects", "cache", "custom pages", "webhooks", "HTTP/2", "public path"),
     "a check is answered before anything is decided, and leaves no event", [f"{_HERE}::test_the_health_path_is_answered_before_all_else"]),
    ("health path", ("folded keys",), "another spelling is the path of an object", [f"{_HERE}::test_the_health_path_is_answered_before_all_else"]),
    ("health path", ("CORS",), "a preflight is one there too", [f"{_HERE}::test_the_health_path_is_answered_before_all_else"]),

    ("folded keys", ("nested mounts", "listings"), "no spelling leads past a mount, in what a directory shows neither",
     [f"{_FOLDED}::test_no_spelling_leads_past_a_nested_mount"]),
    ("folded keys", ("resources",), "a path is decided as it was sent and as the store reads it", [f"{_FOLDED}::test_no_spelling_leads_past_the_resources"]),
    ("folded keys", ("policies",), "a policy is asked about both spellings", [f"{_FOLDED}::test_no_spelling_leads_past_a_policy"]),
    ("folded keys", ("isolation", "rewrites by user"), "no spelling of a path, of a rewritten key, or of a user's name leads to another user",
     [f"{_FOLDED}::test_no_spelling_leads_out_of_a_users_directory"]),
    ("folded keys", ("index", "slash redirect", "README", "archives", "cache", "tried files"), "none shows what is closed at another spelling",
     [f"{_FOLDED}::test_no_view_shows_what_is_closed_at_another_spelling"]),
    ("folded keys", ("forms",), "the name of a file is a part of the path", [f"{_FOLDED}::test_no_name_of_a_file_leads_past_the_resources"]),
    ("folded keys", ("parts", "direct uploads"), "neither is begun at a spelling of a closed path", [f"{_FOLDED}::test_no_way_to_write_leads_past_the_resources"]),
    ("folded keys", ("drafts",), "a draft decides about both spellings", [f"{_HERE}::test_a_draft_says_what_the_edit_then_does"]),

    ("conditional writes", ("rewrites by user", "isolation", "webhooks", "cache"),
     "a trial and a look are beside the user's own file, are not taken from memory, and are not reported",
     [f"{_HERE}::test_a_condition_is_kept_beside_the_users_own_file"]),
    ("conditional writes", ("forms", "parts"), "a file that may not be replaced is not, whatever S3 heeds",
     [f"{_QUIRKS}::test_nothing_is_written_if_s3_heeds_no_condition", f"{_QUIRKS}::test_a_head_stands_for_the_condition"]),
    ("conditional writes", ("direct uploads",), "the form of S3 knows no condition, so a request for one with a condition is a 400",
     ["web/test_incoming_file.py::test_a_form_for_s3_is_refused_as_the_upload_would_be"]),
    ("conditional writes", ("checksums",), "a trial of an S3 that wants a checksum has one",
     [f"{_QUIRKS}::test_an_object_that_is_locked_is_not_replaced", f"{_HERE}::test_a_condition_is_kept_beside_the_users_own_file"]),
    ("checksums", ("forms", "parts"), "each way to write sends them, as S3 wants them", [f"{_QUIRKS}::test_a_checksum_is_sent_as_s3_wants_it"]),
    ("checksums", ("resumed reads",), "an S3 that is not to be asked for them is read without",
     [f"{_QUIRKS}::test_an_s3_that_is_not_to_be_asked_for_checksums_is_read"]),
    ("caPath", ("resumed reads",), "what continues a read is verified as its beginning", [f"{_RESUMED}::test_a_read_goes_on_with_the_authority_of_its_bucket"]),
    ("caPath", ("cache", "forms", "parts"), "reads and writes trust it, by both ways, and after it was renewed",
     ["s3/test_way_to_s3.py::test_an_authority_can_be_named", "s3/test_way_to_s3.py::test_a_renewed_authority_is_trusted"]),

    ("drafts", ("nested mounts", "resources", "rewrites by user", "index", "tried files"),
     "what a draft shows of a request is what the edit does to it", [f"{_HERE}::test_a_draft_says_what_the_edit_then_does"]),
    ("drafts", ("isolation",), "a request that depends on a user who is not kept is unknown",
     [f"{_DRAFTS}::test_what_needs_more_than_was_kept_is_unknown"]),
    ("drafts", ("readOnly",), "drafts are tried on a Unix socket only", ["admin/test_draft_page.py::test_a_read_only_listener_has_no_drafts"]),
    ("readOnly", ("cache",), "nothing is purged over the network", ["admin/test_application.py::test_a_refused_command_does_nothing"]),

    ("redirect rules", ("nested mounts",), "an address leads below its own mount, or to a URL",
     ["routing/test_moved.py::test_a_redirect_leads_below_the_mount_or_to_a_url"]),
    ("redirect rules", ("isolation",), "a location has no user's directory", ["routing/test_moved.py::test_a_location_has_no_prefix_of_a_user"]),
    ("redirect rules", ("resources",), "nobody learns where a closed address leads", ["routing/test_moved.py::test_access_comes_first"]),
    ("redirect rules", ("policies", "sign-in away"), "nobody learns that a denied address has moved or is gone",
     [f"{_HERE}::test_what_has_moved_is_told_to_those_who_may_know"]),
    ("redirect rules", ("rewrites by user", "cache", "CORS", "webhooks", "website redirects"),
     "the first rule decides, for a user too; the answer is private then, has the headers of CORS, asks no object, and is not reported",
     [f"{_HERE}::test_a_rule_that_redirects_is_an_answer_for_every_filter"]),
    ("redirect rules", ("index",), "a directory has its index document also where the address of that leads to the directory",
     [f"{_HERE}::test_a_directory_and_what_has_moved"]),
    ("redirect rules", ("slash redirect",), "a directory that moved is redirected with its slash, then to its new address",
     [f"{_HERE}::test_a_directory_and_what_has_moved"]),
    ("redirect rules", ("listings", "README", "archives", "previews"), "what has moved or is gone is not shown",
     ["web/test_moved.py::test_a_listing_does_not_show_what_is_gone", f"{_HERE}::test_a_directory_and_what_has_moved"]),
    ("redirect rules", ("forms", "parts", "direct uploads"), "a write is led to the new address, or refused where its body would be lost",
     ["web/test_moved.py::test_a_write_is_led_to_the_new_address", f"{_HERE}::test_no_way_to_write_brings_back_what_is_gone"]),
    ("redirect rules", ("custom pages",), "what is gone has a page", ["web/test_moved.py::test_what_is_gone_has_a_page"]),
    ("redirect rules", ("tried files",), "a redirect for what is missing comes after all addresses",
     ["routing/test_moved.py::test_a_redirect_may_be_for_what_is_missing"]),
    ("redirect rules", ("HTTP/2",), "both protocols lead to one address", [f"{_BOTH}::test_both_protocols_have_one_answer"]),
    ("redirect rules", ("public path",), "a location begins with it",
     ["routing/test_moved.py::test_a_location_begins_with_the_public_path", f"{_BOTH}::test_a_path_that_a_proxy_takes_off_changes_addresses_only"]),
    ("redirect rules", ("drafts",), "a draft shows what it redirects, and what it calls gone", [f"{_HERE}::test_a_draft_says_what_the_edit_then_does"]),
)  # fmt: skip

# Pairs that cannot meet, each with the reason.
APART = (
    ("nested mounts", ("previews",), "a preview is the request of an entry, which one target answers"),
    ("isolation", ("previews",), "a preview is the request of an entry of the user's own listing"),
    ("index", ("README", "previews", *_WRITES), "a directory with an index document has no page; a file of that name is written as any other"),
    ("slash redirect", ("listings", "README", "previews", "archives", "compression", *_WRITES), "a path without its slash has no page, no body and no form"),
    ("README", ("archives", *_WRITES), "a README is read for a page only; in an archive it is a file"),
    ("previews", ("archives", "direct uploads", "custom pages", "webhooks"), "previews are the script's of our own page, and ask for files"),
    ("archives", _WRITES, "an archive is read only"),
    ("parts", ("direct uploads", "forms"), "one request is one way to write"),
    ("direct uploads", ("forms",), "one request is one way to write"),
    ("resumed reads", ("nested mounts", "isolation", "resources", "policies", "rewrites by user", "sign-in away"),
     "they decide before the object is read, and once"),
    ("website redirects", ("slash redirect", "resumed reads", *_WRITES), "the object is there, its body is not read, and no upload makes one"),
    ("tried files", _WRITES, "an upload is for the address that it names"),
    ("resumed reads", ("slash redirect", "listings", *_WRITES), "no object is read"),
    ("nested mounts", ("CORS", "compression"), "these are options of the server, for all targets"),
    ("public path", ("resumed reads", "folded keys", *_S3, "drafts", "readOnly"), "it is in no body of an object, and gone before a path is read"),
    ("health path", ("slash redirect", "listings", "README", "previews", "archives", *_WRITES, "compression", "resumed reads", *_S3,
                     "drafts", "readOnly"), "it answers GET and HEAD of one path, and asks no bucket"),
    ("folded keys", ("previews", "compression", "CORS", "custom pages", "webhooks", "sign-in away", "resumed reads", "HTTP/2",
                     "website redirects", *_S3, "readOnly"), "S3 gets the key as it was sent; only what is decided knows the other"),
    *((each, (*_DECIDING, *_READING, "CORS", "compression", "custom pages", "sign-in away", "HTTP/2", "drafts", "readOnly"),
       "how S3 is spoken to, once all else is decided") for each in _S3),
    ("conditional writes", ("resumed reads", "caPath"), "a condition is a header of a write"),
    ("checksums", ("rewrites by user", "isolation", "webhooks", "cache", "direct uploads", "caPath"), "a checksum is of a body that is sent"),
    ("caPath", ("rewrites by user", "isolation", "webhooks", "direct uploads"), "it is about connections, and browsers have theirs"),
    ("drafts", ("slash redirect", "listings", "README", "previews", "archives", *_WRITES, "cache", "compression", "CORS", "custom pages", "webhooks",
                "resumed reads", "HTTP/2", "website redirects", "policies", "sign-in away"), "a draft is of rules, and asks nobody"),
    ("readOnly", (*_DECIDING, "isolation", "rewrites by user", *_READING, *_WRITES, "compression", "CORS", "custom pages", "webhooks", "sign-in away",
                  "resumed reads", "HTTP/2"), "it is about the commands of the admin listener"),
    ("redirect rules", ("compression", "resumed reads", *_S3, "health path", "readOnly"), "no object is read, and a check asks no rule"),
    ("redirect rules", ("folded keys",), "a rule takes the path as it was sent; it closes nothing"),
    ("compression", _WRITES, "the answers to uploads are small; request bodies are never decoded"),
)  # fmt: skip


def _pairs():
    for first, others, *_ in (*HELD, *APART):
        yield from (frozenset((first, other)) for other in others)


def test_each_pair_of_features_is_listed_once():
    """Each pair of features has a clause and its tests, or the reason why the two cannot meet."""
    listed = Counter(_pairs())
    assert {tuple(pair) for pair, count in listed.items() if count > 1} == set()
    assert set(listed) ^ {frozenset(pair) for pair in combinations(FEATURES, 2)} == set()


@cache
def _functions(file):
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_test_of_the_table_exists():
    named = [name for *_, clause, names in HELD for name in names if clause]
    assert all(clause and names for *_, clause, names in HELD)
    assert [name for name in named if name.partition("::")[2] not in _functions(name.partition("::")[0])] == []


SECRET = b"what only ann may read"
USERS = Resource("/**", ("GET", "HEAD", "PUT", "DELETE"), provider="front")
LISTING = ListingOptions(readme=True, archive=ArchiveOptions(enabled=True))
HOOKS = (Webhook("http://127.0.0.1:1/"),)
SLASH = {"index_document": "index.html", "redirect_with_trailing_slash_for_not_found_file": True}
VIEWS = GetAction(user_isolation=True, webhooks=HOOKS, **SLASH)
HOME = 'rewrite `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"'


async def test_the_target_that_answers_decides_about_isolation_and_rules():
    """A target mounted inside isolates its users and knows no rule of the outer one, in what is shown beside too."""
    nested = Target("nested", Mount("", ("/home/in/",)), Bucket("b"), Actions(GetAction(user_isolation=True)), (USERS,))
    files = {"ann/a": SECRET, "bob/b": b"his", "users/bob/c": b"rule", "users/bob/in/d": SECRET}
    async with serve(files, rules=HOME, resources=[USERS], others=[nested], listing=LISTING, **FRONT) as site:
        inside = entries_of(await site.request("GET", "/home/in/?format=json", BOB))
        outside = await site.request("GET", "/home/?format=json", BOB)
        archived = files_in(await site.request("GET", "/home/?format=zip", BOB))
    assert inside == ["b"]
    assert entries_of(outside) == ["c", "in/"]
    assert archived == {"home/c": b"rule"}


async def test_every_view_of_an_isolated_user_is_the_users_own():
    """Listing, archive, README, index document, slash redirect, custom page and webhook know the user's directory only."""
    files = {
        "ann/index.html": SECRET, "ann/d/x": SECRET, "ann/README.md": SECRET, "ann/only/x": SECRET, "ann/i/index.html": SECRET,
        "bob/README.md": b"his text", "bob/f": b"his", "bob/i/index.html": b"his index",
    }  # fmt: skip
    server = Server(trusted_proxies=("127.0.0.0/8",), compress=Compress(min_size=1, types=("application/*", "text/*")))
    settings = {**FRONT, "server": server, "resources": [USERS], "listing": LISTING, "actions": Actions(VIEWS)}
    async with serve(files, **settings) as site:
        page = await site.request("GET", "/", BOB | {"Accept": "text/html"})
        assert entries_of(await site.request("GET", "/?format=json", BOB)) == ["README.md", "f", "i/"]
        archived = files_in(await site.request("GET", "/?format=zip", BOB))
        index = await site.request("GET", "/i/", BOB)
        redirects = [(await site.request("GET", path, BOB)).status for path in ("/i", "/only", "/d")]
        used = await site.used()
    assert "his text" in page.text
    assert SECRET not in page.body
    assert archived == {"site/README.md": b"his text", "site/f": b"his", "site/i/index.html": b"his index"}
    assert index.body == b"his index"
    assert redirects == [302, 404, 404]
    assert used
    assert all(key.startswith("bob/") for key in used)


async def test_a_form_for_s3_is_for_the_users_own_key():
    """An isolated user gets a form for S3 that stores below the user's own directory, whatever the path says."""
    actions = Actions(GetAction(user_isolation=True), put=WRITABLE.put)
    async with serve({}, actions=actions, resources=[USERS], **FRONT) as site:
        answers = [await site.request("PUT", f"{path}?upload=direct", BOB) for path in ("/x", "/ann/x", "//ann/x")]
    assert [json.loads(answer.body)["fields"]["key"] for answer in answers] == ["bob/x", "bob/ann/x", "bob//ann/x"]


OPA = OpaServer("http://127.0.0.1:8181/v1/data/x")
POLICED = [Resource("/**", ("GET", "PUT", "DELETE"), provider="front", opa=OPA)]


@pytest.mark.parametrize("get", [GetAction(), GetAction(user_isolation=True)])
async def test_a_policy_sees_the_path_and_never_the_key(get):
    """Neither a rewrite nor the user's directory changes the path that a policy decides about."""
    policy, rules = Policy("/home/closed"), HOME if not get.user_isolation else ""
    files = {"users/bob/closed": SECRET, "users/bob/a": b"x", "bob/home/closed": SECRET, "bob/home/a": b"x"}
    async with serve(files, get=get, rules=rules, resources=POLICED, fetch=policy, **FRONT) as site:
        statuses = [(await site.request("GET", path, BOB)).status for path in ("/home/closed", "/home/a")]
    assert statuses == [403, 200]
    assert policy.asked == [("GET", "/home/closed"), ("GET", "/home/a")]


async def test_a_cached_object_needs_access_each_time():
    """Each request is decided before an object is taken from memory: a policy is asked again, and others get a 401."""
    policy = Policy()
    behind = MemoryStore({"a": SECRET})
    store = CachingStore(behind, ObjectCache(), CacheCounts())
    async with serve(store, resources=POLICED, fetch=policy, **FRONT) as site:
        answers = [await site.request("GET", "/a", BOB), await site.request("GET", "/a", BOB)]
        policy.refused = ("/a",)
        refused, nobody = await site.request("GET", "/a", BOB), await site.get("/a")
    assert [answer.headers["x-cache"] for answer in answers] == ["miss", "hit"]
    assert (refused.status, nobody.status) == (403, 401)
    assert policy.asked == [("GET", "/a")] * 3


async def test_what_is_shown_beside_is_rewritten_for_the_user():
    """A listing, an archive, a README, an index document and a slash redirect of a rewritten path are each user's own."""
    files = {
        "users/ann/x": SECRET, "users/ann/README.md": SECRET, "users/ann/d/x": SECRET, "users/ann/i/index.html": SECRET,
        "users/bob/README.md": b"his text", "users/bob/i/index.html": b"his index",
    }  # fmt: skip
    get = GetAction(**SLASH)
    async with serve(files, rules=HOME, get=get, resources=[USERS], listing=LISTING, **FRONT) as site:
        page = await site.request("GET", "/home/", BOB | {"Accept": "text/html"})
        archived = files_in(await site.request("GET", "/home/?format=zip", BOB))
        redirects = [(await site.request("GET", path, BOB)).status for path in ("/home/i", "/home/d")]
        assert (await site.request("GET", "/home/i/", BOB)).body == b"his index"
    assert "his text" in page.text
    assert archived == {"home/README.md": b"his text", "home/i/index.html": b"his index"}
    assert redirects == [302, 404]


async def test_each_way_to_write_has_the_rewritten_key():
    """A form, a body, an upload in parts and a form for S3 store under the key of the user's rewrite."""
    store = MemoryStore()
    async with serve(store, rules=HOME, actions=WRITABLE, resources=[USERS], **FRONT) as site:
        await site.request("PUT", "/home/", BOB | FORM_TYPE, form(part("file", b"x", filename="form")))
        await site.request("PUT", "/home/body", BOB, b"x")
        direct = json.loads((await site.request("PUT", "/home/direct?upload=direct", BOB)).body)
        upload = json.loads((await site.request("PUT", "/home/parts?upload=start&size=1", BOB)).body)["id"]
        await site.request("PUT", f"/home/parts?upload=part&id={upload}&number=1", BOB, b"x")
        await site.request("PUT", f"/home/parts?upload=complete&id={upload}&size=1", BOB)
    assert sorted(store.keys()) == ["users/bob/body", "users/bob/form", "users/bob/parts"]
    assert (direct["fields"]["key"], direct["location"]) == ("users/bob/direct", "/home/direct")


class _Away:
    """A provider that cannot be reached."""

    def __init__(self):
        self.asked = 0

    async def authenticate(self, request, guard):
        self.asked += 1
        return Refuse(503, "the provider cannot be reached")


async def test_an_open_page_does_not_ask_a_provider_that_is_away():
    """While a provider is away, open listings, archives and index documents are answered, without what it guards."""
    away, files = _Away(), {"a": b"x", "closed/x": SECRET, "README.md": SECRET, "d/index.html": b"index"}
    resources = [
        Resource("/closed/**", provider="id"),
        Resource("/README.md", provider="id"),
        Resource("/**", white_list=True),
    ]
    settings = {"resources": resources, "authenticators": {"id": away}, "listing": LISTING}
    async with serve(files, get=GetAction(index_document="index.html"), **settings) as site:
        assert entries_of(await site.get("/?format=json")) == ["a", "d/"]
        assert sorted(files_in(await site.get("/?format=zip"))) == ["site/a", "site/d/index.html"]
        assert SECRET not in (await site.get("/", Accept="text/html")).body
        assert (await site.get("/d/")).body == b"index"
        assert away.asked == 0
        assert (await site.get("/closed/x")).status == 503


@pytest.mark.parametrize("path", ["/d/", "/d"])
async def test_an_index_document_is_a_file_for_every_filter(path):
    """An index document has its own headers of caches, is compressed, has those of CORS, and is reported with its key."""
    store = MemoryStore()
    info = ObjectInfo(2000, content_type="text/html", etag='"e"', cache_control="max-age=5")
    store.add("d/index.html", b"x" * 2000, info)
    server = Server(
        trusted_proxies=("127.0.0.0/8",),
        cors=Cors(enabled=True, allow_origins=("https://a.test",)),
        cache=CacheHeaders(cache_control="max-age=9"),
        compress=Compress(),
    )
    get = GetAction(index_document="index.html", try_files=("$path", "$path/"), webhooks=HOOKS)
    custom = {"folder_list": Recipe("folder_list", "a page")}
    async with serve(store, get=get, resources=[USERS], custom=custom, **{**FRONT, "server": server}) as site:
        answer = await site.request("GET", path, BOB | {"Origin": "https://a.test", "Accept-Encoding": "gzip"})
        used = await site.used()
    assert gzip.decompress(answer.body) == b"x" * 2000
    assert answer.headers["cache-control"] == "private, max-age=5"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["access-control-allow-origin"] == "https://a.test"
    assert used == ["d/index.html"]


def _redirecting(**redirects):
    store = MemoryStore()
    for key, place in redirects.items():
        store.add(key, b"stored text", ObjectInfo(0, content_type="text/markdown", redirect=place))
    return store


MOVES = GetAction(website_redirects=True, webhooks=HOOKS)


async def test_a_redirect_of_an_object_is_for_those_who_may_read_it():
    """Nobody else learns where it leads, nor that there is one: not without a sign-in, and not against a policy."""
    policy = Policy("/secret")
    async with serve(_redirecting(secret="/new"), get=MOVES, resources=POLICED, fetch=policy, **FRONT) as site:
        refused, nobody = await site.request("GET", "/secret", BOB), await site.get("/secret")
        policy.refused = ("/new",)
        moved = await site.request("GET", "/secret", BOB)
    assert [(each.status, "location" in each.headers) for each in (refused, nobody)] == [(403, False), (401, False)]
    assert (moved.status, moved.headers["location"]) == (301, "/new")
    assert moved.headers["cache-control"] == "private, no-cache"


async def test_a_redirect_of_an_object_is_an_answer_for_every_filter():
    """It follows a rewrite, comes from memory, has headers of CORS, is not reported, and may end in the page of a 404."""
    store = CachingStore(_redirecting(moved="/new", lost="javascript:alert(1)"), ObjectCache(), CacheCounts())
    cors = Server(cors=Cors(enabled=True, allow_origins=("https://a.test",)))
    custom = {"not_found_error": Recipe("not_found_error", "our own page")}
    rules = "rewrite `^/old/` -> `/moved`"
    async with serve(store, get=MOVES, rules=rules, server=cors, custom=custom) as site:
        answers = [
            await site.get("/old/x", Origin="https://a.test", Accept_Encoding="gzip", If_None_Match="*")
            for _ in range(2)
        ]
        lost = await site.get("/lost")
        assert await site.used() == []
    assert [(each.status, each.headers["location"], each.body) for each in answers] == [(301, "/new", b"")] * 2
    assert [each.headers["access-control-allow-origin"] for each in answers] == ["https://a.test"] * 2
    assert (lost.status, lost.text) == (404, "our own page")


async def test_a_directory_has_an_object_that_redirects_as_it_is_stored():
    """A listing, its README and an archive have the object with its own bytes; a preview follows its redirect."""
    async with serve(_redirecting(**{"README.md": "/new"}), get=MOVES, listing=LISTING) as site:
        assert entries_of(await site.get("/?format=json")) == ["README.md"]
        assert "stored text" in (await site.get("/", Accept="text/html")).text
        assert files_in(await site.get("/?format=zip")) == {"site/README.md": b"stored text"}
        assert (await site.get("/README.md", Sec_Fetch_Mode="cors")).status == 301


async def test_a_custom_listing_has_no_closed_entry():
    """The entries of a page of one's own are those of the listing: what its viewer may request."""
    custom = {"folder_list": Recipe("folder_list", "{{ range .Entries }}{{ .Name }} {{ end }}{{ .Next }}")}
    resources = [Resource("/closed*", provider="front"), Resource("/**", white_list=True)]
    async with serve({"a": b"", "closed": b"", "z": b""}, custom=custom, resources=resources, **FRONT) as site:
        assert (await site.get("/")).text == "a z "


@pytest.mark.parametrize("target", ["/d/?format=html", "/d/?format=json"])
async def test_a_listing_with_a_readme_is_reported_once(target):
    """The webhook of a listing names the directory; the README that the page reads is not reported."""
    get = GetAction(webhooks=HOOKS)
    async with serve({"d/README.md": b"x", "d/a": b"x"}, get=get, listing=LISTING) as site:
        await site.get(target)
        used = await site.used()
    assert used == ["d/"]


async def test_an_archive_is_reported_once():
    """The webhook of an archive names the directory, not each of its files."""
    async with serve({"d/a": b"x", "d/b": b"x"}, get=GetAction(webhooks=HOOKS), listing=LISTING) as site:
        assert len(files_in(await site.get("/d/?format=zip"))) == 2
        used = await site.used()
    assert used == ["d/"]


async def test_an_archive_can_be_compressed():
    """An archive of a type that is configured is compressed whole, has the headers of CORS, and no page replaces it."""
    cors, compress = Cors(enabled=True, allow_origins=("https://a.test",)), Compress(types=("application/*",))
    custom = {"folder_list": Recipe("folder_list", "a page")}
    settings = {"server": Server(cors=cors, compress=compress), "custom": custom}
    async with serve({"d/a": b"x" * 5000}, listing=LISTING, **settings) as site:
        answer = await site.get("/d/?format=tar", Accept_Encoding="gzip", Origin="https://a.test")
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["access-control-allow-origin"] == "https://a.test"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(answer.body))) as archive:
        assert archive.getnames() == ["d/a"]


async def test_an_isolated_users_answers_pass_every_filter():
    """They are compressed, have the headers of CORS, and fill custom pages, with nothing of other users."""
    cors, compress = Cors(enabled=True, allow_origins=("https://a.test",)), Compress(min_size=1, types=("text/*",))
    server = Server(trusted_proxies=("127.0.0.0/8",), cors=cors, compress=compress)
    files = MemoryStore()
    for key, body in {"bob/f.txt": b"his" * 900, "ann/g.txt": SECRET, "h.txt": SECRET}.items():
        files.add(key, body, ObjectInfo(len(body), content_type="text/plain"))
    custom = {"folder_list": Recipe("folder_list", "{{ range .Entries }}{{ .Name }} {{ end }}")}
    settings = {**FRONT, "server": server, "resources": [USERS], "get": GetAction(user_isolation=True)}
    async with serve(files, custom=custom, **settings) as site:
        asked = BOB | {"Accept-Encoding": "gzip", "Origin": "https://a.test"}
        file, page = await site.request("GET", "/f.txt", asked), await site.request("GET", "/", asked)
        missing = [(await site.request("GET", path, asked)).status for path in ("/g.txt", "/h.txt")]
    assert gzip.decompress(file.body) == b"his" * 900
    assert gzip.decompress(page.body) == b"f.txt "
    assert {each.headers["access-control-allow-origin"] for each in (file, page)} == {"https://a.test"}
    assert missing == [404, 404]


async def test_an_isolated_target_shows_nothing_while_its_provider_is_away():
    """No view is of nobody's directory: each is a 503, a write too."""
    actions = Actions(VIEWS, put=WRITABLE.put)
    settings = {"resources": [Resource("/**", ("GET", "PUT"), provider="id")], "authenticators": {"id": _Away()}}
    async with serve({"a": SECRET, "ann/a": SECRET}, actions=actions, listing=LISTING, **settings) as site:
        reads, writes = ("/a", "/ann", "/", "/?format=zip"), ("/b", "/b?upload=direct")
        for method, path in (*(("GET", path) for path in reads), *(("PUT", path) for path in writes)):
            answer = await site.request(method, path, {}, b"x" if path == "/b" else b"")
            assert (answer.status, SECRET in answer.body) == (503, False), path


async def test_each_option_is_of_the_target_that_answers():
    """A target mounted inside takes uploads, asks its provider and reports nothing, whatever the outer one does."""
    store = MemoryStore(dict.fromkeys(("a", "in/a"), b"x"))
    outer = Actions(GetAction(webhooks=HOOKS))
    writes = Actions(put=PutAction(enabled=True, raw_uploads=True, direct_uploads=True))
    closed = Resource("/in/closed/**", provider="id")
    opened = Resource("/**", ("GET", "PUT"), white_list=True)
    nested = Target("nested", Mount("", ("/in/",)), Bucket("b"), writes, (closed, opened))
    async with serve(store, others=[nested], authenticators={"id": _Away()}, actions=outer) as site:
        statuses = [
            (await site.request("PUT", path, {}, b"x" if path.endswith("b") else b"")).status
            for query in ("b", "c?upload=direct", "d?upload=start&size=1")
            for path in (f"/{query}", f"/in/{query}")
        ]
        found = [(await site.get(path)).status for path in ("/closed/a", "/in/closed/a", "/a", "/in/a")]
        await site.last_event()
        used = [event.body["target"]["name"] for event in site.events if isinstance(event, ObjectUsed)]
    assert (statuses, found) == ([405, 201, 405, 200, 405, 200], [404, 503, 200, 200])
    assert set(used) == {"site"}


@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-Prefix": "/files"}])
async def test_the_health_path_is_answered_before_all_else(headers):
    """No target, resource, policy, rewrite, object, page or webhook has a say, by neither protocol."""
    cors = Cors(enabled=True, allow_origins=("https://a.test",))
    server = Server(trusted_proxies=("127.0.0.0/8",), cors=cors, health_path="/in/ok")
    nested = Target("nested", Mount("", ("/in/",)), Bucket("b"), Actions(GetAction(user_isolation=True)), (USERS,))
    store = CachingStore(MemoryStore(), ObjectCache(), CacheCounts())
    store.behind.add("ok", SECRET, ObjectInfo(len(SECRET), redirect="/elsewhere"))
    get = GetAction(try_files=("$path", "/ok"), index_document="ok", website_redirects=True, webhooks=HOOKS)
    settings = {"resources": POLICED, "fetch": Policy("/in/ok"), "rules": HOME, "get": get, "others": [nested]}
    custom = {"forbidden_error": Recipe("forbidden_error", "a page")}
    settings["bucket"] = Bucket("b", folding=("emptySegments", "case"))
    async with serve(store, server=server, authenticators={"front": _Away()}, custom=custom, **settings) as site:
        answers = [await site.request("GET", "/in/ok", headers)]
        async with connect(site) as client:
            answers.append(await client.request("GET", "/in/ok", headers))
        refused = [(await site.request("GET", path, headers)).status for path in ("/in/OK", "/in//ok", "/ok")]
        asked = {"Origin": "https://a.test", "Access-Control-Request-Method": "GET"}
        preflight = await site.request("OPTIONS", "/in/ok", asked)
        await site.last_event()
    assert [(each.status, each.body) for each in answers] == [(200, b"healthy\n")] * 2
    assert (refused, preflight.headers["access-control-allow-origin"]) == ([503] * 3, "https://a.test")


WAYS_TO_WRITE = {
    "form": lambda site, user: site.request("PUT", "/home/", user | FORM_TYPE, form(part("file", b"x", filename="f"))),
    "body": lambda site, user: site.request("PUT", "/home/f", user, b"x"),
}


async def _in_parts(site, user):
    started = await site.request("PUT", "/home/f?upload=start&size=1", user)
    if started.status != 200:
        return started
    upload = json.loads(started.body)["id"]
    await site.request("PUT", f"/home/f?upload=part&id={upload}&number=1", user, b"x")
    return await site.request("PUT", f"/home/f?upload=complete&id={upload}&size=1", user)


@pytest.mark.parametrize("way", [*WAYS_TO_WRITE, "parts"])
@pytest.mark.parametrize("reaction", ["tried", "headBefore"])
@pytest.mark.parametrize("home", ["users/{}", "{}/home"])
async def test_a_condition_is_kept_beside_the_users_own_file(way, reaction, home):
    """What is tried, or looked for, before a file is written is in the user's directory; only the file is reported."""
    write = WAYS_TO_WRITE.get(way, _in_parts)
    put = PutAction(enabled=True, raw_uploads=True, webhooks=HOOKS)
    is_ruled, (ann, bob) = home.startswith("users"), [home.format(each) for each in ("ann", "bob")]
    actions = Actions(GetAction(user_isolation=not is_ruled), put=put)
    settings = {"actions": actions, "rules": HOME if is_ruled else "", "resources": [USERS], **FRONT}
    async with quirky_s3() as s3, store_at(s3.url, conditional_writes=reaction, checksums="when_supported") as store:
        behind = CachingStore(store, ObjectCache(), CacheCounts())
        async with serve(behind, **settings) as site:
            first, again = await write(site, BOB), await write(site, BOB)
            other = await write(site, ANN)
            used = await site.used()
    assert (first.status, again.status, other.status) == (201, 409, 201)
    assert used == [f"{bob}/f", f"{ann}/f"]
    assert s3.objects.keys() == {f"{bob}/f", f"{ann}/f"}
    # The listing is of a bucket that may not be there.
    asked = [each for each in s3.requests if "list-type" not in each.query]
    assert {each.key.rpartition("/")[0] for each in asked} == {bob, ann}
    written = [each for each in s3.requests if each.method == "PUT" and each.key == f"{bob}/f" and each.body]
    assert all("x-amz-checksum-crc32" in each.headers for each in written)


DRAFTED = {
    "nested": 'rewrite `^/in/(?P<rest>.*)$` -> "/elsewhere/$rest"',
    "user": 'rewrite `^/home/(?P<rest>.*)$` -> jinja "/{{ user.username }}/{{ groups.rest }}"',
    "key": 'rewrite `^/a$` -> "/b"',
    "closed": 'rewrite `^/closed/(?P<rest>.*)$` -> "/opened/$rest"',
    "tried": 'rewrite `^/page\\.html$` -> "/other.html"',
    "moved": "redirect `^/(home|in)/(.*)$` -> `/there/$2`",
    "gone": "gone `^/(a|d/)`",
    "missing": "redirect if missing `^/page$` -> `/there`",
    "refused": 'rewrite `^/a$` -> "/../b"',
}


@pytest.mark.parametrize("name", DRAFTED)
def test_a_draft_says_what_the_edit_then_does(tmp_path, name):
    """Whatever meets the rules, what the draft shows of a request is what it is answered before and after the edit."""
    files = Files.create(tmp_path)
    files.configure(
        "rules: [rules]\n"
        "authProviders: {header: {front: {usernameHeader: X-User, emailHeader: X-Email}}}\n"
        "server: {trustedProxies: [127.0.0.1/32]}\n"
        "targets:\n"
        "  site:\n"
        "    mount: {path: [/]}\n"
        "    bucket: {name: b, anonymous: true, folding: [emptySegments, case]}\n"
        "    resources:\n"
        "      - {path: /closed/**, provider: front, header: {}}\n"
        "      - {path: /**, whiteList: true}\n"
        "    actions: {GET: {config: {indexDocument: index.html, tryFiles: [$path, $path.html]}}}\n"
        "  nested: {mount: {path: [/in/]}, bucket: {name: b, anonymous: true}}\n"
    )
    before = files.load()
    assert before.usable, before.diagnostics
    asked = ("/in/a", "/home/a", "/a", "/A", "/closed/x", "/page", "/d/")
    kept = [
        KeptRequest(at, "nested" if path.startswith("/in/") else "site", "GET", "", path, path, signed_in=False)
        for at, path in enumerate(asked)
    ]
    statements = f"target site {{\n{DRAFTED[name]}\n}}\n"
    draft = RuleFile(str(files.path()), statements.encode())
    said = try_draft(before, generation_of(before).parts.mounts, draft, kept)
    files.path().write_text(statements)
    after = files.load()
    assert after.usable, after.diagnostics

    def answered(configuration):
        simulator = Simulator(generation_of(configuration).parts.mounts, RequestDefaults())
        return {path: simulator.ask(logged(each)).plan for path, each in zip(asked, kept, strict=True)}

    old, new = answered(before), answered(after)
    shown = {each.path for group in said.groups for each, _ in group.shown}
    assert shown == {path for path in asked if old[path] != new[path]}
    assert said.requests == len(asked)


MOVED = """
redirect 301 `^/left/(?P<rest>.*)$` -> jinja `/home/{{ user.username }}/{{ groups.rest }}`
redirect `^/d/(.*/)?index\\.html$` -> `/d/$1`
redirect `^/old/$` -> `/d/`
gone `^/d/(README|gone)`
"""


async def test_what_has_moved_is_told_to_those_who_may_know():
    """A policy that denies an address, and a provider that is away, are asked before the rules."""
    policy = Policy("/d/gone")
    async with serve({}, rules=MOVED, resources=POLICED, fetch=policy, **FRONT) as site:
        denied, gone = [await site.request("GET", path, BOB) for path in ("/d/gone", "/d/gone2")]
    away = {"resources": [Resource("/**", provider="id")], "authenticators": {"id": _Away()}}
    async with serve({}, rules=MOVED, **away) as site:
        unknown = [await site.get(path) for path in ("/d/gone", "/old/")]
    assert [each.status for each in (denied, gone, *unknown)] == [403, 410, 503, 503]
    assert all("location" not in each.headers for each in unknown)


async def test_a_rule_that_redirects_is_an_answer_for_every_filter():
    """It is for its user, private, with the headers of CORS; the object that would redirect is not asked, nothing is reported."""
    store = MemoryStore()
    store.add("left/a", b"x", ObjectInfo(1, redirect="/elsewhere"))
    server = Server(trusted_proxies=("127.0.0.0/8",), cors=Cors(enabled=True, allow_origins=("https://a.test",)))
    get = GetAction(website_redirects=True, redirect_cache_control="public, max-age=60", webhooks=HOOKS)
    async with serve(store, rules=MOVED, get=get, resources=[USERS], **{**FRONT, "server": server}) as site:
        answers = [await site.request("GET", "/left/a", user | {"Origin": "https://a.test"}) for user in (ANN, BOB)]
        used = await site.used()
    assert [each.headers["location"] for each in answers] == ["/home/ann/a", "/home/bob/a"]
    assert [each.headers["access-control-allow-origin"] for each in answers] == ["https://a.test"] * 2
    assert [each.headers["cache-control"].split(", ")[0] for each in answers] == ["private"] * 2
    assert used == []


async def test_a_directory_and_what_has_moved():
    """An index document is found where its own address leads; what has moved or is gone is in no listing or archive."""
    files = {"d/index.html": b"index", "d/e/index.html": b"deep", "f/x": b"x", "d/README.md": SECRET, "old/x": b"x"}
    get = GetAction(**SLASH)
    async with serve(files, rules=MOVED, get=get) as site:
        paths = ("/d/index.html", "/d/e/index.html", "/old", "/old/")
        moved = [(await site.get(path)).headers["location"] for path in paths]
        assert [(await site.get(path)).body for path in ("/d/", "/d/e/")] == [b"index", b"deep"]
    async with serve(files, rules=MOVED, listing=LISTING) as site:
        listed, page = entries_of(await site.get("/d/?format=json")), await site.get("/d/", Accept="text/html")
        archived = files_in(await site.get("/d/?format=zip"))
    assert moved == ["/d/", "/d/e/", "/old/", "/d/"]
    assert (listed, archived, SECRET in page.body) == (["e/"], {}, False)


async def test_no_way_to_write_brings_back_what_is_gone():
    """Neither a form, a body, parts nor a form for S3."""
    store = MemoryStore()
    async with serve(store, rules=MOVED, actions=WRITABLE, resources=[USERS], **FRONT) as site:
        answers = [
            await site.request("PUT", "/d/", BOB | FORM_TYPE, form(part("file", b"x", filename="gone"))),
            *[
                await site.request("PUT", f"/d/gone{query}", BOB, b"")
                for query in ("", "?upload=start&size=1", "?upload=direct")
            ],
        ]
    assert ([each.status for each in answers], store.keys()) == ([410] * 4, ())


FILTERS = {
    "cors": Cors(enabled=True, allow_origins=("https://a.test",)),
    "compress": Compress(min_size=1, types=("text/*",)),
    "trusted_proxies": ("127.0.0.0/8",),
}
FILTERED = {"Origin": "https://a.test", "Accept-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("kind", "status", "settings"),
    [
        ("policy", 403, {"resources": POLICED, "fetch": Policy("/home/a"), **FRONT}),
        ("user of a rewrite", 403, {"rules": HOME}),
        ("provider", 503, {"resources": [Resource("/**", provider="id")], "authenticators": {"id": _Away()}}),
    ],
)
async def test_a_refusal_passes_every_filter(kind, status, settings):
    """Of a policy, a rewrite, or a provider that is away: its own page, compressed, with the headers of CORS, unreported."""
    page = f"{'forbidden' if status == 403 else 'internal_server'}_error"
    custom = {page: Recipe(page, "refused", (("Content-Type", "text/plain"),))}
    get = GetAction(webhooks=HOOKS)
    async with serve({"home/a": SECRET}, custom=custom, get=get, **{**settings, "server": Server(**FILTERS)}) as site:
        answer = await site.request("GET", "/home/a", (BOB if kind == "policy" else {}) | FILTERED)
        used = await site.used()
    assert (answer.status, gzip.decompress(answer.body), used) == (status, b"refused", [])
    assert answer.headers["access-control-allow-origin"] == "https://a.test"


async def test_a_file_from_memory_passes_every_filter():
    """The second answer is from memory: compressed, with the headers of CORS and of the page for files, and reported."""
    store, headers = MemoryStore(), (("X-Size", "{{ .StreamFile.ContentLength }}"),)
    store.add("a", b"x" * 2000, ObjectInfo(2000, content_type="text/plain"))
    settings = {"custom": {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}, "server": Server(**FILTERS)}
    get = GetAction(webhooks=HOOKS, streamed_file_headers=headers)
    async with serve(CachingStore(store, ObjectCache(), CacheCounts()), get=get, **settings) as site:
        answers = [await site.request("GET", "/a", FILTERED) for _ in range(2)]
        used = await site.used()
    assert [each.headers["x-cache"] for each in answers] == ["miss", "hit"]
    assert [gzip.decompress(each.body) for each in answers] == [b"x" * 2000] * 2
    assert [each.headers["access-control-allow-origin"] for each in answers] == ["https://a.test"] * 2
    assert [each.headers["x-size"] for each in answers] == ["2000"] * 2
    assert used == ["a", "a"]
