import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { projectRoot } from '#bench/project-root'

/** The client as Vite builds it for pages: a module, or a script that leaves it in `deviceData`. */
export async function bundleOf(format: 'es' | 'iife'): Promise<readonly Rolldown.OutputChunk[]> {
  const output = (await build({
    configFile: false,
    logLevel: 'error',
    root: projectRoot,
    build: {
      write: false,
      lib: {
        entry: join(projectRoot, 'src/client/client.ts'),
        formats: [format],
        name: 'deviceData',
        fileName: 'client',
      },
      rolldownOptions: { output: { minify: true } },
    },
    resolve: {
      alias: [{ find: /^#(client|model|api)\/(.*)$/, replacement: join(projectRoot, 'src/$1/$2.ts') }],
    },
  })) as Rolldown.RolldownOutput[]
  return output.flatMap((built) => built.output).filter((part) => part.type === 'chunk')
}
