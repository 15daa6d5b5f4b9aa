import { parseArgs } from 'node:util'
import { propertiesPerDeviceMax, propertiesPerDeviceMin } from '#bench/fleet/kinds'
import { updateModes } from '#bench/fleet/updates'
import { writeModes } from '#bench/fleet/writes'

/** Returns undefined for a text that is not allowed. */
type Read = (text: string) => number | string | undefined
/** Name of the value, description, and how the value is read. */
export type Flag = readonly [value: string, about: string, read: Read]
type Values = Readonly<Record<string, unknown>>

export const between =
  (low: number, high: number): Read =>
  (text) => {
    const number = Number(text)
    return text !== '' && Number.isInteger(number) && number >= low && number <= high ? number : undefined
  }
const amount =
  (high: number): Read =>
  (text) => {
    const number = Number(text)
    return text !== '' && number >= 0 && number <= high ? number : undefined
  }
const oneOf =
  (...words: readonly string[]): Read =>
  (text) =>
    words.includes(text) ? text : undefined
export const shaped =
  (pattern: RegExp): Read =>
  (text) =>
    pattern.test(text) ? text : undefined

/** Without the base path of the API; behind a proxy it may have a path. */
const serverAddress = /^wss?:\/\/[^/?#]+(\/[^?#]*[^/?#])?$/
const provisioningKey = /^([a-z0-9-]{1,63}\/)?[A-Za-z0-9._-]{1,200}$/
const writesAbout = `adds a service Controls; how devices take writes: ${writeModes.join(', ')}`

export const fleetFlags = {
  url: ['URL', 'the server', shaped(serverAddress)],
  devices: ['N', '1 … 100000', between(1, 100_000)],
  links: ['N', 'websockets; fewer than devices: gateways', between(1, 100_000)],
  rate: ['N', 'changes/s in all; 0: as fast as the windows allow', amount(10_000_000)],
  changes: ['N', 'changes per frame', between(1, 1024)],
  properties: ['N', 'properties per device', between(propertiesPerDeviceMin, propertiesPerDeviceMax)],
  protocol: ['json|msgpack', 'of the link', oneOf('json', 'msgpack')],
  form: ['short|long', 'of UPDATE', oneOf('short', 'long')],
  window: ['N', 'unacknowledged frames per link', between(1, 65_536)],
  storm: ['S', 'every S seconds all links are cut and reconnect; 0: never', amount(86_400)],
  session: ['named|none', 'numbering over reconnects', oneOf('named', 'none')],
  writes: ['HOW', writesAbout, oneOf(...writeModes)],
  updates: ['HOW', `how devices take firmware: ${updateModes.join(', ')}`, oneOf(...updateModes)],
  flap: ['N', 'every N frames of a device its level crosses 50 %; 0: it has none', between(0, 1_000_000)],
  seed: ['N', 'random seed', between(0, 2 ** 32 - 1)],
  prefix: ['TEXT', 'of the device identifiers', shaped(/^[A-Z0-9]{1,16}$/)],
  key: ['KEY', 'a provisioning key, where IAM is on; of a tenant: tenant/KEY', shaped(provisioningKey)],
  seconds: ['S', 'then stop; 0: until Ctrl-C', amount(86_400)],
} satisfies Readonly<Record<string, Flag>>

export interface CommandLine {
  readonly usage: string
  readonly flags: Readonly<Record<string, Flag>>
  readonly defaults: Values
  readonly switches: Readonly<Record<string, string>>
}

/** Merges the given values into the defaults; throws a `RangeError` with one line for each mistake. */
export function readCommandLine({ flags, defaults, switches }: CommandLine, args: readonly string[]): Values {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(Object.keys(flags).map((name) => [name, { type: 'string' as const }])),
      ...Object.fromEntries(Object.keys(switches).map((name) => [name, { type: 'boolean' as const }])),
    },
  })
  const mistakes: string[] = []
  const given = Object.entries(values).map(([name, text]) => {
    const flag = flags[name]
    const value = flag && typeof text === 'string' ? flag[2](text) : text
    if (flag && value === undefined) mistakes.push(`--${name} ${flag[0]}: ${flag[1]}; got '${text}'`)
    return [name, value] as const
  })
  if (mistakes.length > 0) throw new RangeError(mistakes.join('\n'))
  return { ...defaults, ...Object.fromEntries(given) }
}

export function helpOf({ usage, flags, defaults, switches }: CommandLine): string {
  const rows = [
    ...Object.entries(flags).map(([name, [value, about]]) => [`--${name} ${value}`, `${about} (${defaults[name]})`]),
    ...Object.entries(switches).map(([name, about]) => [`--${name}`, about]),
  ]
  return [usage, '', ...rows.map(([left = '', right]) => `  ${left.padEnd(26)}${right}`)].join('\n')
}
