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

const proxy =
  'use a proxy with TLS (ops/nginx, ops/compose.caddy.yaml), HOST=127.0.0.1, TRUST_PROXY=on, PUBLIC_URL=https://…'
const exampleUrl = 'PUBLIC_URL=https://devices.example.com'

/** Settings that are valid, but questionable together. */
export function* combinationFindings(config: Config): Generator<Finding> {
  const { isIamOn, host, isProxyTrusted, publicUrls, smtpUrl, natsUrls, nodeUrl, natsReplicas } = config
  const isReachable = !isLoopback(host)
  const isSecure = publicUrls.some((url) => url.startsWith('https:'))
  const isNode = natsUrls.length > 0
  if (!isIamOn && isReachable) {
    const said = 'is off, and HOST is reachable from other machines: anyone may do everything'
    yield wrong('IAM', said, 'IAM=on, or HOST=127.0.0.1')
  }
  if (!isIamOn && !isReachable) {
    yield hint('IAM', 'is off: anyone on this machine may do everything', 'IAM=on, unless this is intended')
  }
  if (isReachable && !isProxyTrusted && !isSecure) {
    const said = 'is reachable from other machines, apparently without TLS: passwords and tokens are not encrypted'
    yield hint('HOST', said, proxy)
  }
  if (isReachable && isProxyTrusted) {
    const said =
      'is on while HOST is reachable from other machines: clients that bypass the proxy can forge their address'
    yield hint('TRUST_PROXY', said, 'HOST=127.0.0.1, or a firewall that lets only the proxy reach the port')
  }
  if (!isProxyTrusted && isSecure) {
    const said =
      'is off while PUBLIC_URL is https: all clients have the address of the proxy, and share its rate limits'
    yield hint('TRUST_PROXY', said, 'TRUST_PROXY=on, if the proxy sets X-Forwarded-For, -Proto and -Host itself')
  }
  if (isProxyTrusted && publicUrls.length === 0) {
    const said = 'is not set: WebAuthn, firmware URLs and links in mails need the address for clients'
    yield hint('PUBLIC_URL', said, exampleUrl)
  }
  if (publicUrls.some((url) => !url.startsWith('https:') && !isLocal(url))) {
    const said = 'has an address without TLS: browsers offer no keys there, so DPoP and WebAuthn cannot be used'
    yield hint('PUBLIC_URL', said, proxy)
  }
  if (smtpUrl !== undefined && publicUrls.length === 0) {
    yield hint('PUBLIC_URL', 'is not set: mails have no unsubscribe link', exampleUrl)
  }
  if (isNode && !isReachable && !isLocal(nodeUrl)) {
    const said = 'is reachable from this machine only, but NODE_URL is the address for other nodes'
    yield wrong('HOST', said, 'HOST=0.0.0.0 in a private network, unless a proxy at NODE_URL passes requests on')
  }
  if (isLocal(nodeUrl) && !natsUrls.every(isLocal)) {
    const said = 'is reachable from this machine only: nodes on other machines cannot forward requests to this one'
    yield hint('NODE_URL', said, 'NODE_URL=http://10.0.0.5:8080, an address of this machine in a private network')
  }
  if (isNode && natsReplicas < 3) {
    const said = 'is below 3: when one NATS server is away, the whole cluster refuses writes'
    yield hint('NATS_REPLICAS', said, 'three NATS servers and NATS_REPLICAS=3, before the first start')
  }
}

function isLocal(url: string | undefined): boolean {
  return url !== undefined && isLoopback(new URL(url).hostname)
}
