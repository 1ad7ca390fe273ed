# A shared cache in front of three instances, for `varnishd -f`. Files are kept for as long as their Cache-Control says:
# that of the object, else `server.cache`. What has no lifetime, or is for one user, is not kept.
vcl 4.1;

import directors;
import std;

backend one { .host = "10.0.0.11"; .port = "8080"; .connect_timeout = 2s; .first_byte_timeout = 90s; .between_bytes_timeout = 90s; }
backend two { .host = "10.0.0.12"; .port = "8080"; .connect_timeout = 2s; .first_byte_timeout = 90s; .between_bytes_timeout = 90s; }
backend three { .host = "10.0.0.13"; .port = "8080"; .connect_timeout = 2s; .first_byte_timeout = 90s; .between_bytes_timeout = 90s; }

sub vcl_init {
    new instances = directors.round_robin();
    instances.add_backend(one);
    instances.add_backend(two);
    instances.add_backend(three);
}

sub vcl_recv {
    # Instances believe these headers (`server.trustedProxies`), so what a client wrote into them is replaced.
    set req.http.X-Forwarded-For = client.ip;
    set req.http.X-Forwarded-Host = req.http.Host;
    set req.http.X-Forwarded-Proto = "http";
    unset req.http.X-Cache;
    # The rest is Varnish's own: requests with credentials or a cookie, and all but GET and HEAD, pass the cache by.
}

sub vcl_backend_fetch {
    set bereq.backend = instances.backend();
}

sub vcl_backend_response {
    # While no instance or no S3 answers, an old file is better than none.
    if (beresp.status == 502 || beresp.status == 503 || beresp.status == 504) {
        if (bereq.is_bgfetch) {
            return (abandon);
        }
        return (pass(1s));
    }
    if (!beresp.http.Cache-Control && !beresp.http.Expires) {
        return (pass(120s));
    }
    # Large files go through: as a whole they would push out all others.
    if (std.integer(beresp.http.Content-Length, 0) > 67108864) {
        return (pass(120s));
    }
    # An old file is given once more while it is asked for by its ETag.
    set beresp.grace = 1d;
    set beresp.keep = 7d;
}

sub vcl_backend_error {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    # An instance that restarts refuses the connection; a request that changes nothing goes to the next one.
    if (bereq.retries < 2 && (bereq.method == "GET" || bereq.method == "HEAD")) {
        return (retry);
    }
}

sub vcl_hit {
    set req.http.X-Cache = "HIT";
    if (obj.ttl <= 0s) {
        set req.http.X-Cache = "STALE";
    }
}

sub vcl_miss {
    set req.http.X-Cache = "MISS";
}

sub vcl_pass {
    set req.http.X-Cache = "BYPASS";
}

sub vcl_deliver {
    set resp.http.X-Cache = req.http.X-Cache;
}
