import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A certificate for `localhost` and 127.0.0.1 that signs itself, and its key. For tests only. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUWXCfWwAPF/cG3BQaBwxxcG+rIycwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyODIyNTIxMFoYDzIxMjYxMTA0
MjI1MjEwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT4BfTU0LQ8Q29AixbnWmnAmWJq4rp0KvFvfyfJQi4u6jr0OFz/E55c
FM/JJ485H/8Udflch4pp+Hx4Y7QhKCbto28wbTAdBgNVHQ4EFgQUtRKTh7D234Sv
Pzwwtwie4gVSUFMwHwYDVR0jBBgwFoAUtRKTh7D234SvPzwwtwie4gVSUFMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgCVE4u1lt+OkZRau1Acw9TWu56ZxsA3LjS8qeM2NJma4CIAwH
KZ4z2gPz9oU3c36WJUdbN+WB4513mAMHr8Jh0Jaq
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgS4jLx+eyQuDHp/o/
+FamZxo5SBbH/glVbmGy5QQbtjihRANCAAT4BfTU0LQ8Q29AixbnWmnAmWJq4rp0
KvFvfyfJQi4u6jr0OFz/E55cFM/JJ485H/8Udflch4pp+Hx4Y7QhKCbt
-----END PRIVATE KEY-----
`

/** The settings of a server with this certificate. */
export function tlsSettings(folder: string): { readonly TLS_CERT: string; readonly TLS_KEY: string } {
  const paths = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') }
  writeFileSync(paths.TLS_CERT, certificate)
  writeFileSync(paths.TLS_KEY, key)
  return paths
}
