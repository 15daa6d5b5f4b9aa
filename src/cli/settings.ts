import { parseEnv } from 'node:util'
import { type ConfigReading, readConfig } from '#app/config'

export interface Settings {
  /** The server's own: where it listens and what it stores where. */
  readonly reading: ConfigReading
  readonly name: string | undefined
  readonly password: string | undefined
  readonly apiKey: string | undefined
}

/**
 * What the environment and, for names that are not in it, a `.env` file say about the server and about who asks. To the
 * server ADMIN_NAME and ADMIN_PASSWORD are whom to make, and one alone is a mistake; here they are who signs in, the name
 * may be left out, and the password typed.
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
