import { parseEnv } from 'node:util'
import { type ConfigReading, readConfig } from '#app/config'

export interface Settings {
  /** The settings of the server: where it listens, and where it stores data. */
  readonly reading: ConfigReading
  readonly name: string | undefined
  readonly password: string | undefined
  readonly apiKey: string | undefined
}

/**
 * The settings of the server and the credentials, from the environment and then from `.env`. In the server, ADMIN_NAME
 * and ADMIN_PASSWORD create the first administrator, and each needs the other. Here they sign in, the name is optional,
 * and the user may type the password.
 */
export function readSettings(environment: Record<string, string | undefined>, dotenvText: string): Settings {
  const dotenv: Record<string, string | undefined> = parseEnv(dotenvText)
  const given = (name: string) => (environment[name] ?? dotenv[name]) || undefined
  return {
    reading: readConfig({ ...environment, ADMIN_NAME: '', ADMIN_PASSWORD: '' }, dotenvText),
    name: given('ADMIN_NAME'),
    password: given('ADMIN_PASSWORD'),
    apiKey: given('ADMIN_API_KEY'),
  }
}
