// An independent OpenID provider: npm's `oidc-provider`, with its own pages for logins.
// Usage: node issuer.mjs PORT CLIENT SECRET SITE, in the folder where the package is installed.
import { createRequire } from "node:module";
import { generateKeyPairSync } from "node:crypto";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
const [port, client, secret, site] = process.argv.slice(2);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...privateKey.export({ format: "jwk" }), use: "sig", kid: String(Date.now()) };
const account = (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, email: `${id}@example.org`, email_verified: true, groups: ["editors"] }),
});

const provider = new Provider(`http://localhost:${port}`, {
    clients: [{
        client_id: client,
        client_secret: secret,
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [`${site}/auth/id/callback`, `${site}/auth/wrong/callback`],
        post_logout_redirect_uris: [`${site}/`],
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["a key for cookies of tests"] },
    findAccount: account,
    jwks: { keys: [key] },
    ttl: { IdToken: 8 },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
