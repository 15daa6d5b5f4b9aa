import type { Seen } from '#model/seen'

/**
 * What pages are told about themselves: everything they need is here, nothing runs, and no style holds, that was not served as a file, nobody
 * frames them, and their addresses go to nobody else.
 */
export function pageHeaders({ host }: Pick<Seen, 'host'>): Record<string, string> {
  return {
    'Content-Security-Policy': policy(host),
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy':
      'camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), serial=(), usb=()',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

function policy(host: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    `connect-src 'self'${websocketsOf(host)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Browsers know themselves where a page came from, but not all take its websockets for the same place. */
function websocketsOf(host: string): string {
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.test(host) ? ` ws://${host} wss://${host}` : ''
}
