import { type Config, type ConfigReading, isLoopback } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'

/** Returns all mistakes, or all warnings, or one good finding. */
export function settingsFindings(reading: ConfigReading): readonly Finding[] {
  const about = 'configuration'
  if ('mistakes' in reading) {
    return reading.mistakes.map((mistake) => wrong(about, mistake, 'correct it in the environment or in .env'))
  }
  const { warnings } = reading
  if (warnings.length === 0) return [ok(about, 'all settings are valid')]
  return warnings.map((warning) => hint(about, warning, 'npm start -- --help describes all settings'))
}

interface SettingRule {
  applies(config: Config): boolean
  readonly finding: Finding
}

const proxy =
  'use a proxy with TLS (ops/nginx, ops/compose.caddy.yaml), HOST=127.0.0.1, TRUST_PROXY=on, PUBLIC_URL=https://…'

/** Settings that are valid, but questionable together. */
const settingRules: readonly SettingRule[] = [
  {
    applies: ({ isIamOn, host }) => !isIamOn && !isLoopback(host),
    finding: wrong(
      'IAM',
      'is off, and HOST is reachable from other machines: anyone may do everything',
      'IAM=on, or HOST=127.0.0.1',
    ),
  },
  {
    applies: ({ isIamOn, host }) => !isIamOn && isLoopback(host),
    finding: hint('IAM', 'is off: anyone on this machine may do everything', 'IAM=on, unless this is intended'),
  },
  {
    applies: ({ host, isProxyTrusted, publicUrls }) =>
      !isLoopback(host) && !isProxyTrusted && !publicUrls.some(isSecure),
    finding: hint(
      'HOST',
      'is reachable from other machines, apparently without TLS: passwords and tokens are not encrypted',
      proxy,
    ),
  },
  {
    applies: ({ host, isProxyTrusted }) => isProxyTrusted && !isLoopback(host),
    finding: hint(
      'TRUST_PROXY',
      'is on while HOST is reachable from other machines: clients that bypass the proxy can forge their address',
      'HOST=127.0.0.1, or a firewall that lets only the proxy reach the port',
    ),
  },
  {
    applies: ({ isProxyTrusted, publicUrls }) => !isProxyTrusted && publicUrls.some(isSecure),
    finding: hint(
      'TRUST_PROXY',
      'is off while PUBLIC_URL is https: all clients have the address of the proxy, and share its rate limits',
      'TRUST_PROXY=on, if the proxy sets X-Forwarded-For, -Proto and -Host itself',
    ),
  },
  {
    applies: ({ isProxyTrusted, publicUrls }) => isProxyTrusted && publicUrls.length === 0,
    finding: hint(
      'PUBLIC_URL',
      'is not set: WebAuthn, firmware URLs and links in mails need the address for clients',
      'PUBLIC_URL=https://devices.example.com',
    ),
  },
  {
    applies: ({ publicUrls }) => publicUrls.some((url) => !isSecure(url) && !isLoopback(new URL(url).hostname)),
    finding: hint(
      'PUBLIC_URL',
      'has an address without TLS: browsers offer no keys there, so DPoP and WebAuthn cannot be used',
      proxy,
    ),
  },
  {
    applies: ({ smtpUrl, publicUrls }) => smtpUrl !== undefined && publicUrls.length === 0,
    finding: hint('PUBLIC_URL', 'is not set: mails have no unsubscribe link', 'PUBLIC_URL=https://devices.example.com'),
  },
  {
    applies: ({ natsUrls, nodeUrl, host }) => natsUrls.length > 0 && isLoopback(host) && !isLocal(nodeUrl),
    finding: wrong(
      'HOST',
      'is reachable from this machine only, but NODE_URL is the address for other nodes',
      'HOST=0.0.0.0 in a private network, unless a proxy at NODE_URL passes requests on',
    ),
  },
  {
    applies: ({ natsUrls, nodeUrl }) => isLocal(nodeUrl) && !natsUrls.every(isLocal),
    finding: hint(
      'NODE_URL',
      'is reachable from this machine only: nodes on other machines cannot forward requests to this one',
      'NODE_URL=http://10.0.0.5:8080, an address of this machine in a private network',
    ),
  },
  {
    applies: ({ natsUrls, natsReplicas }) => natsUrls.length > 0 && natsReplicas < 3,
    finding: hint(
      'NATS_REPLICAS',
      'is below 3: when one NATS server is away, the whole cluster refuses writes',
      'three NATS servers and NATS_REPLICAS=3, before the first start',
    ),
  },
]

export function combinationFindings(config: Config): readonly Finding[] {
  return settingRules.filter(({ applies }) => applies(config)).map(({ finding }) => finding)
}

function isLocal(url: string | undefined): boolean {
  return url !== undefined && isLoopback(new URL(url).hostname)
}

function isSecure(url: string): boolean {
  return url.startsWith('https:')
}
