import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'

const program = 'test/simulation/seeds-process'

/**
 * Compiles the simulation, which is part of the tests and of no build.
 *
 * @param sources a folder with the layout of this project; types are not checked
 * @param into `sources` itself, or an empty folder outside of it
 * @returns the program that runs seeds
 */
export async function compileSimulation(sources: string, into: string): Promise<string> {
  const modules = join(into, 'node_modules')
  if (!existsSync(modules)) symlinkSync(join(projectRoot, 'node_modules'), modules, 'dir')
  // `#names` are resolved below its `dist`.
  if (into !== sources) copyFileSync(join(sources, 'package.json'), join(into, 'package.json'))
  const path = join(into, 'tsconfig.simulation.json')
  const compilerOptions = {
    ...{ rootDir: sources, outDir: join(into, 'dist'), typeRoots: [join(modules, '@types')] },
    ...{ noCheck: true, noEmitOnError: false, incremental: false, tsBuildInfoFile: null },
  }
  const files = [join(sources, `${program}.ts`)]
  const config = { extends: join(sources, 'tsconfig.json'), compilerOptions, include: [], files }
  writeFileSync(path, JSON.stringify(config))
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
  const child = spawn(process.execPath, [compiler, '-p', path], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the simulation in ${sources} was not compiled`)
  return join(into, 'dist', `${program}.js`)
}
