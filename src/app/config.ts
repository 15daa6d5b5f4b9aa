import { parseEnv } from 'node:util'
import { type Setting, settings } from '#app/config-settings'

type Settings = typeof settings

/** The value of a setting: never undefined if it has a fallback. */
type Value<S> = S extends { readonly fallback: string; readonly kind: { read(text: string): infer T } }
  ? Exclude<T, undefined>
  : S extends { readonly kind: { read(text: string): infer T } }
    ? T | undefined
    : never

/** The checked settings; sizes in bytes, times in milliseconds. */
export type Config = { readonly [K in keyof Settings]: Value<Settings[K]> }

/** Either the configuration with warnings for the start, or all mistakes in the settings. */
export type ConfigReading =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] }

/** The exit code for configuration errors, as init systems know it (EX_CONFIG of sysexits.h). */
export const configExitCode = 78

/**
 * Reads the settings from the environment, and those that are missing there from the text of a `.env` file. An empty
 * value in the environment selects the default, even if `.env` has another value, because containers often pass names
 * without values.
 */
export function readConfig(environment: Record<string, string | undefined>, dotenvText = ''): ConfigReading {
  const dotenv: Record<string, string | undefined> = parseEnv(dotenvText)
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries<Setting>(settings)) {
    const given = environment[setting.name] ?? dotenv[setting.name]
    const text = given || setting.fallback
    values[key] = text === undefined ? undefined : setting.kind.read(text)
    if (text !== undefined && values[key] === undefined) mistakes.push(mistakeOf(setting, text))
  }
  const config = values as Config
  mistakes.push(...conflictsIn(config, mistakes))
  if (mistakes.length > 0) return { mistakes }
  return { config, warnings: [...warningsAbout(config), ...likelyTypos(Object.keys(dotenv))] }
}

function mistakeOf(setting: Setting, text: string): string {
  const got = setting.isSecret ? 'a value that is not shown' : JSON.stringify(shorten(text))
  return `${setting.name}: got ${got}, takes ${setting.kind.takes}`
}

/** Settings that are valid alone, but not together. */
function conflictsIn(config: Config, mistakes: readonly string[]): string[] {
  const found: string[] = []
  const isMistaken = (name: string) => mistakes.some((mistake) => mistake.startsWith(`${name}:`))
  if (!config.adminName && config.adminPassword && !isMistaken('ADMIN_NAME')) {
    found.push('ADMIN_NAME: got nothing, takes a name when ADMIN_PASSWORD is set (both or neither)')
  }
  if (config.adminName && !config.adminPassword && !isMistaken('ADMIN_PASSWORD')) {
    found.push('ADMIN_PASSWORD: got nothing, takes a password when ADMIN_NAME is set (both or neither)')
  }
  if (!config.tlsCertificate !== !config.tlsKey) {
    const [missing, given] = config.tlsKey ? ['TLS_CERT', 'TLS_KEY'] : ['TLS_KEY', 'TLS_CERT']
    found.push(`${missing}: got nothing, takes a path when ${given} is set (both or neither)`)
  }
  if (config.natsUrls?.length && !config.nodeUrl && !isMistaken('NODE_URL')) {
    found.push('NODE_URL: got nothing, takes the address of this node when NATS_URL is set')
  }
  if (config.natsUrls?.length && config.durability === 'disk' && !config.natsSystemCredentials) {
    found.push('NATS_SYS_CREDS: got nothing, takes a file when NATS_URL is set and DURABILITY is disk')
  }
  return found
}

function warningsAbout(config: Config): string[] {
  const warnings: string[] = []
  if (!config.isIamOn && !isLoopback(config.host)) {
    warnings.push(
      `IAM is off and HOST is ${config.host}: ANYONE who can reach port ${config.port} can read and change everything`,
    )
  }
  if (config.isConnectUpdateDisabled && !config.autoUpdate) {
    warnings.push(
      'DISABLE_CONNECT_UPDATE is on without AUTO_UPDATE: only the hook, rollouts and manual calls offer firmware',
    )
  }
  return warnings
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * Names in `.env` that look like misspelled settings. The environment is not checked, because it contains names of
 * other programs.
 */
function likelyTypos(names: readonly string[]): string[] {
  const known = Object.values<Setting>(settings).map((setting) => setting.name)
  return names
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const intended = known.find((other) => isSimilar(name, other))
      return intended ? [`.env: ${shorten(name)} is not a setting; did you mean ${intended}?`] : []
    })
}

/** Whether the names have the same letters, or differ by at most one edit, or two edits if the name is long. */
function isSimilar(name: string, other: string): boolean {
  const letters = name.toUpperCase().replace(/[^A-Z]/g, '')
  const otherLetters = other.replace(/[^A-Z]/g, '')
  if ([...letters].sort().join('') === [...otherLetters].sort().join('')) return true
  return editsBetween(letters, otherLetters) <= (otherLetters.length > 6 ? 2 : 1)
}

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1]
    for (const [place, other] of [...b].entries()) {
      const replaced = (row[place] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
