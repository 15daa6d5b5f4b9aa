import { type Config, type ConfigReading, isLoopback } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'

/** Every mistake, or every warning, or that there is none. */
export function settingsFindings(reading: ConfigReading): readonly Finding[] {
  const about = 'configuration'
  if ('mistakes' in reading) {
    return reading.mistakes.map((mistake) => wrong(about, mistake, 'mend it in the environment or in .env'))
  }
  const { warnings } = reading
  if (warnings.length === 0) return [ok(about, 'every setting is taken')]
  return warnings.map((warning) => hint(about, warning, 'npm start -- --help says what each setting does'))
}

interface Sign {
  isSo(config: Config): boolean
  readonly finding: Finding
}

const proxy =
  'put a proxy with TLS in front (ops/nginx, ops/compose), HOST=127.0.0.1, TRUST_PROXY=on, PUBLIC_URL=https://…'

/** Settings that are fine one by one, and odd together. */
const signs: readonly Sign[] = [
  {
    isSo: ({ isIamOn, host }) => !isIamOn && !isLoopback(host),
    finding: wrong(
      'IAM',
      'is off, and HOST is reachable from elsewhere: everybody may do everything',
      'IAM=on, or HOST=127.0.0.1',
    ),
  },
  {
    isSo: ({ isIamOn, host }) => !isIamOn && isLoopback(host),
    finding: hint('IAM', 'is off: everybody on this machine may do everything', 'IAM=on, unless that is meant'),
  },
  {
    isSo: ({ host, isProxyTrusted, publicUrls }) => !isLoopback(host) && !isProxyTrusted && !publicUrls.some(isSecure),
    finding: hint(
      'HOST',
      'is reachable from elsewhere, and nothing speaks of TLS: passwords and tokens go in the clear',
      proxy,
    ),
  },
  {
    isSo: ({ host, isProxyTrusted }) => isProxyTrusted && !isLoopback(host),
    finding: hint(
      'TRUST_PROXY',
      'is on while HOST is reachable from elsewhere: who gets past the proxy says himself from where he comes',
      'HOST=127.0.0.1, or let nobody but the proxy reach the port',
    ),
  },
  {
    isSo: ({ isProxyTrusted, publicUrls }) => !isProxyTrusted && publicUrls.some(isSecure),
    finding: hint(
      'TRUST_PROXY',
      'is off while PUBLIC_URL is https: behind a proxy all clients have its address, and share its rate limits',
      'TRUST_PROXY=on, if the proxy sets X-Forwarded-For, -Proto and -Host itself',
    ),
  },
  {
    isSo: ({ isProxyTrusted, publicUrls }) => isProxyTrusted && publicUrls.length === 0,
    finding: hint(
      'PUBLIC_URL',
      'is not set: WebAuthn, firmware addresses and links in mails do not know where clients reach the server',
      'PUBLIC_URL=https://devices.example.com',
    ),
  },
  {
    isSo: ({ publicUrls }) => publicUrls.some((url) => !isSecure(url) && !isLoopback(new URL(url).hostname)),
    finding: hint(
      'PUBLIC_URL',
      'has an address without TLS: browsers offer no keys there, so nobody signs in with DPoP or WebAuthn',
      proxy,
    ),
  },
  {
    isSo: ({ smtpUrl, publicUrls }) => smtpUrl !== undefined && publicUrls.length === 0,
    finding: hint(
      'PUBLIC_URL',
      'is not set: mails carry no link to end them by',
      'PUBLIC_URL=https://devices.example.com',
    ),
  },
]

export function togetherFindings(config: Config): readonly Finding[] {
  return signs.filter(({ isSo }) => isSo(config)).map(({ finding }) => finding)
}

function isSecure(url: string): boolean {
  return url.startsWith('https:')
}
