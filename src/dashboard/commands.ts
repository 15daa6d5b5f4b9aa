import { apiUrl, serverUrl } from '#dashboard/address'
import { session } from '#dashboard/session'

/** Commands to copy: where there is nothing yet, they do from a terminal what the page does. */

/** The tenant that need not be named. Contract 7. */
const home = 'default'

/** As a shell takes it, word for word, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A call of the API, `path` below its base; with identity on by an API key, which somebody has to have. */
export function apiCommand(options: string, path: string, body?: object): string {
  const credential = session.value.state === 'IAM off' ? '' : ' -H "X-API-Key: $API_KEY"'
  return `curl ${options}${credential}${body ? ` ${jsonOptions(body)}` : ''} ${apiUrl()}${path}`
}

/** What a device that was never heard of says first. §2.2, contract 7. */
export function firstMessage(deviceIdentifier: string, secret = '<secret>'): string {
  const { tenant = home } = session.value
  const user = tenant === home ? deviceIdentifier : `${tenant}/${deviceIdentifier}`
  const body = {
    deviceIdentifier,
    services: [{ serviceIdentifier: 'climate', properties: [{ propId: 8192, type: 'FLOAT', value: 21.5 }] }],
    updates: [],
  }
  return `curl -u ${quoted(`${user}:${secret}`)} ${jsonOptions(body)} ${apiUrl()}/link`
}

export interface FleetCommand {
  /** What the devices do. */
  readonly options?: string
  /** A provisioning key that was made here; where identity is on, somebody has to have one. */
  readonly key?: string
  /** Whose key it is; one's own tenant's, unless said. */
  readonly tenant?: string | undefined
}

/** Fifty simulated devices, from the folder of the server. */
export function fleetCommand({ options, key, tenant = session.value.tenant ?? home }: FleetCommand): string {
  const isOff = session.value.state === 'IAM off'
  const whose = tenant === home ? '' : `${tenant}/`
  const words = [
    `npm run fleet -- --url ${serverUrl().replace(/^http/, 'ws')} --devices 50 --rate 100`,
    options,
    !isOff && `--key ${key === undefined ? `"${whose}$PROVISIONING_KEY"` : whose + key}`,
  ]
  return words.filter(Boolean).join(' ')
}

function jsonOptions(body: object): string {
  return `-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
}
