import { Secret, TOTP } from 'otpauth'

/** The code that an authenticator app shows at this time. RFC 6238. */
export function codeOf(secret: string, nowMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: 30 }).generate({
    timestamp: nowMs,
  })
}
