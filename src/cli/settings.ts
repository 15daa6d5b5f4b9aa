import { parseEnv } from 'node:util'
import { type ConfigReading, readConfig } from '#src/config'

export interface Settings {
  /** The server's own: where it listens and what it stores where. */
  readonly reading: ConfigReading
  readonly name: string | undefined
  readonly password: string | undefined
  readonly apiKey: string | undefined
}

/**
 * What the environment and, for names that are not in it, a `.env` file say about the server and about who asks.
 *
 * To the server ADMIN_NAME and ADMIN_PASSWORD are one setting, of which a half is a mistake. Here a half is fine: the
 * other one has a default, or is typed.
 */
export function readSettings(environment: Record<string, string | undefined>, dotenvText: string): Settings {
  const dotenv: Record<string, string | undefined> = parseEnv(dotenvText)
  const given = (name: string) => (environment[name] ?? dotenv[name]) || undefined
  const name = given('ADMIN_NAME')
  const password = given('ADMIN_PASSWORD')
  const isWhole = name !== undefined && password !== undefined
  const reading = readConfig(
    { ...environment, ...(!isWhole && { ADMIN_NAME: '', ADMIN_PASSWORD: '' }) },
    dotenvText,
  )
  return { reading, name, password, apiKey: given('ADMIN_API_KEY') }
}
