import { type Config, readConfig } from '#app/config'

/** The configuration of these settings. @throws for an invalid one */
export function configOf(environment: Record<string, string>, dotenv?: string): Config {
  const reading = readConfig(environment, dotenv)
  if ('mistakes' in reading) throw new Error(reading.mistakes.join('\n'))
  return reading.config
}
