import { apiUrl, serverUrl } from '#dashboard/address'
import { defaultTenant, session } from '#dashboard/session'

/** Commands to copy into a terminal, for empty pages. */

/** Quotes a text for a shell. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A call of the API, with an API key if authentication is on. `path` is below the base path. */
export function apiCommand(options: string, path: string, body?: object): string {
  const credential = session.value.state === 'IAM off' ? '' : ' -H "X-API-Key: $API_KEY"'
  return `curl ${options}${credential}${body ? ` ${jsonOptions(body)}` : ''} ${apiUrl()}${path}`
}

/** Sends the first message of a new device. §2.2, contract 7. */
export function firstMessage(deviceIdentifier: string, secret = '<secret>'): string {
  const { tenant = defaultTenant } = session.value
  const user = tenant === defaultTenant ? deviceIdentifier : `${tenant}/${deviceIdentifier}`
  const body = {
    deviceIdentifier,
    services: [{ serviceIdentifier: 'climate', properties: [{ propId: 8192, type: 'FLOAT', value: 21.5 }] }],
    updates: [],
  }
  return `curl -u ${shellQuoted(`${user}:${secret}`)} ${jsonOptions(body)} ${apiUrl()}/link`
}

/** Uploads the image of a release. */
export function uploadCommand(project: string, version: string): string {
  return apiCommand(`-T ${project}-${version}.bin`, `/updates/projects/${project}/releases/${version}`)
}

export interface FleetCommand {
  /** Options for the behaviour of the devices. */
  readonly options?: string
  /** A new provisioning key. Absent: if authentication is on, the shell's `PROVISIONING_KEY`. */
  readonly key?: string
  /** The tenant of the key; the user's own tenant by default. */
  readonly tenant?: string | undefined
}

/** Starts 50 simulated devices. The command runs in the folder of the server. */
export function fleetCommand({ options, key, tenant = session.value.tenant ?? defaultTenant }: FleetCommand): string {
  const isOff = session.value.state === 'IAM off'
  const prefix = tenant === defaultTenant ? '' : `${tenant}/`
  const words = [
    `npm run fleet -- --url ${serverUrl().replace(/^http/, 'ws')} --devices 50 --rate 100`,
    options,
    !isOff && `--key ${key === undefined ? `"${prefix}$PROVISIONING_KEY"` : prefix + key}`,
  ]
  return words.filter(Boolean).join(' ')
}

function jsonOptions(body: object): string {
  return `-H 'Content-Type: application/json' -d ${shellQuoted(JSON.stringify(body))}`
}
