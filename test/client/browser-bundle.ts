import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { projectRoot } from '#bench/project-root'

/** Builds the script of the client package, which defines `deviceData`. */
export async function buildScript(): Promise<readonly Rolldown.OutputChunk[]> {
  const output = (await build({
    configFile: join(projectRoot, 'src/client/package/vite.config.ts'),
    mode: 'script',
    logLevel: 'error',
    build: { write: false },
  })) as Rolldown.RolldownOutput[]
  return output.flatMap((built) => built.output).filter((part) => part.type === 'chunk')
}
