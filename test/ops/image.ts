import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#app/config'
import { settings } from '#app/config-settings'
import { projectRoot } from '#bench/project-root'
import { configOf } from '#test/app/valid-config'

/** The image, as its Dockerfile describes it. */

const dockerfile = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8')
const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))

/** The variables of one instruction, `ENV` or `LABEL`, in the last stage. */
export function valuesOf(instruction: 'ENV' | 'LABEL'): Record<string, string> {
  const lines = lastStage.replaceAll('\\\n', ' ').matchAll(new RegExp(`^${instruction} (.*)$`, 'gm'))
  return Object.fromEntries(
    [...lines].flatMap(([, line = '']) =>
      [...line.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name, quoted, bare]) => [name, quoted ?? bare]),
    ),
  )
}

export const exposedPort = Number(/^EXPOSE (\d+)$/m.exec(lastStage)?.[1])

/**
 * The configuration of a server in the image with these settings.
 * @throws Error naming a setting that the server does not know, or a value that it refuses
 */
export function configurationWith(environment: Record<string, string>): Config {
  const known = Object.values(settings).map(({ name }): string => name)
  const unknown = Object.keys(environment).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`no settings: ${unknown.join()}`)
  return configOf({ ...valuesOf('ENV'), ...environment })
}
