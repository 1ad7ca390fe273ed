# A shared cache in front of three instances, for `varnishd -f`. Files are cached for as long as
# their Cache-Control says: that of the object, or `server.cache`. Files without a lifetime, or for one user, are not.
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
    # Instances trust these headers (`server.trustedProxies`), so values from clients are replaced.
    set req.http.X-Forwarded-For = client.ip;
    set req.http.X-Forwarded-Host = req.http.Host;
    set req.http.X-Forwarded-Proto = "http";
    unset req.http.X-Cache;
    # Varnish's default follows: requests with credentials or a cookie, and other methods than GET and HEAD, bypass the cache.
}

sub vcl_backend_fetch {
    set bereq.backend = instances.backend();
}

sub vcl_backend_response {
    # If no instance or no S3 answers, a stale file is better than an error.
    if (beresp.status == 502 || beresp.status == 503 || beresp.status == 504) {
        if (bereq.is_bgfetch) {
            return (abandon);
        }
        return (pass(1s));
    }
    if (!beresp.http.Cache-Control && !beresp.http.Expires) {
        return (pass(120s));
    }
    # Large files are not cached, since they would evict all others.
    if (std.integer(beresp.http.Content-Length, 0) > 67108864) {
        return (pass(120s));
    }
    # A stale file is served while it is revalidated by its ETag.
    set beresp.grace = 1d;
    set beresp.keep = 7d;
}

sub vcl_backend_error {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    # A restarting instance refuses the connection; a safe request goes to the next one.
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
