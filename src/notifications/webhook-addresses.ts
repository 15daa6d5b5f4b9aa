import { BlockList, isIP } from 'node:net'

/** The networks in IANA's registries of special-purpose addresses that are not on the public internet. */
const privateIpv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const
/** Public hosts are only in this network. All other addresses are private or contain an IPv4 address. */
const globalIpv6 = ['2000::', 3] as const
const privateIpv6 = [
  // Teredo, benchmarks, ORCHID …
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4
  ['2002::', 16],
  ['3fff::', 20],
] as const

const refusedIpv4 = new BlockList()
for (const [network, prefix] of privateIpv4) refusedIpv4.addSubnet(network, prefix, 'ipv4')
const publicIpv6 = new BlockList()
publicIpv6.addSubnet(...globalIpv6, 'ipv6')
const refusedIpv6 = new BlockList()
for (const [network, prefix] of privateIpv6) refusedIpv6.addSubnet(network, prefix, 'ipv6')

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !refusedIpv4.check(address, 'ipv4')
  return publicIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
}

/** An entry of `WEBHOOK_ALLOW`: a host, an address or a network such as `10.0.0.0/8`. */
export function isAllowable(text: string): boolean {
  const [network = '', prefix, ...more] = text.split('/')
  if (prefix === undefined) return isIP(network) > 0 || /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$/i.test(network)
  const bits = isIP(network) === 4 ? 32 : 128
  return more.length === 0 && isIP(network) > 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
}

/** Where webhooks may be sent: over TLS to public addresses, and to the entries of `WEBHOOK_ALLOW`. Contract 12. */
export class WebhookAddresses {
  readonly #hosts: ReadonlySet<string>
  readonly #networks = new BlockList()
  readonly #hasNetworks: boolean

  /** @param allowed see `isAllowable` */
  constructor(allowed: readonly string[] = []) {
    const networks = allowed.filter((text) => isIP(text.split('/')[0] as string) > 0)
    this.#hosts = new Set(allowed.filter((text) => !networks.includes(text)).map((host) => host.toLowerCase()))
    this.#hasNetworks = networks.length > 0
    for (const text of networks) {
      const [network, prefix] = text.split('/') as [string, string?]
      const isIpv4 = isIP(network) === 4
      this.#networks.addSubnet(network, Number(prefix ?? (isIpv4 ? 32 : 128)), isIpv4 ? 'ipv4' : 'ipv6')
    }
  }

  isNamed(host: string): boolean {
    return this.#hosts.has(host)
  }

  /**
   * Whether a webhook may connect to this address of a host. Without TLS, `WEBHOOK_ALLOW` must name host or address.
   */
  mayConnect(protocol: string, host: string, address: string): boolean {
    const [plain = ''] = address.split('%')
    if (this.isNamed(host) || this.#networks.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')) return true
    return protocol === 'https:' && isPublic(plain)
  }

  /** Why a URL cannot be used, as far as that is known before its host is resolved. */
  faultOf(url: string): string | undefined {
    const { protocol, hostname } = new URL(url)
    const host = hostOf(hostname)
    const isAddress = isIP(host) > 0
    const isLocal = /(^|\.)localhost$/i.test(host)
    if (isAddress ? this.mayConnect(protocol, host, host) : this.isNamed(host)) return undefined
    // A name may resolve to an allowed network.
    if (!isAddress && (protocol === 'https:' ? !isLocal : this.#hasNetworks)) return undefined
    return protocol === 'https:'
      ? 'must have a public address; WEBHOOK_ALLOW can name others'
      : 'must begin with https:, except for hosts that WEBHOOK_ALLOW names'
  }
}

/** The host without the brackets of IPv6 and the final dot. `URL` converts every form of IPv4 to the usual one. */
export function hostOf(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}
