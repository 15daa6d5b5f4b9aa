import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'

const program = 'test/simulation/seeds-process'

/**
 * Compiles the simulation, which is part of the tests and of no build.
 *
 * @param sources a copy of this project, which also gets the output; types are not checked
 * @returns the program that runs seeds
 */
export async function compileSimulation(sources: string): Promise<string> {
  const modules = join(sources, 'node_modules')
  symlinkSync(join(projectRoot, 'node_modules'), modules, 'dir')
  const path = join(sources, 'tsconfig.simulation.json')
  const compilerOptions = {
    ...{ rootDir: sources, outDir: join(sources, 'dist'), typeRoots: [join(modules, '@types')] },
    ...{ noCheck: true, noEmitOnError: false, incremental: false, tsBuildInfoFile: null },
  }
  const files = [join(sources, `${program}.ts`)]
  const config = { extends: join(sources, 'tsconfig.json'), compilerOptions, include: [], files }
  writeFileSync(path, JSON.stringify(config))
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
  const child = spawn(process.execPath, [compiler, '-p', path], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the simulation in ${sources} was not compiled`)
  return join(sources, 'dist', `${program}.js`)
}
