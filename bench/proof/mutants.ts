import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { runSeeds, type SeedResult } from '#bench/proof/seeds'
import { compileSimulation } from '#bench/proof/simulation-program'

/** A mistake planted in the server, and what the simulation found of it. */
export interface MutantReport {
  readonly name: string
  /** The first seed that failed; undefined: it was not found. */
  readonly found: SeedResult | undefined
  readonly seeds: number
  readonly seconds: number
}

export interface MutantOptions {
  readonly processes: number
  readonly seedsMax: number
}

const folder = join(projectRoot, 'test/simulation/mutants')
/** What the simulation is compiled from. */
const copied = ['package.json', 'tsconfig.json', 'src', 'actors', 'bench', 'test']
/** What it is not, and what is large. */
const left = ['src/dashboard', 'bench/results', 'test/dashboard'].map((path) => join(projectRoot, path))

/** Their names: each is a patch against the sources, `<name>.patch`. */
export function mutantNames(): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.patch'))
    .map((file) => file.slice(0, -'.patch'.length))
    .sort()
}

/** Whether it fits the sources as they are. @throws with what git says when it does not */
export function checkMutant(name: string): void {
  git(projectRoot, ['apply', '--check', patchOf(name)])
}

/** Plants one in a copy of the sources, and runs seeds from 1 on until one of them finds it. */
export async function findMutant(name: string, { processes, seedsMax }: MutantOptions): Promise<MutantReport> {
  const begun = performance.now()
  const { path, remove } = temporaryFolder('mutant-')
  for (const part of copied) {
    const from = join(projectRoot, part)
    cpSync(from, join(path, part), { recursive: true, filter: (file) => !left.includes(file) })
  }
  git(path, ['apply', patchOf(name)])
  const program = await compileSimulation(path, path)
  let seeds = 0
  let found: SeedResult | undefined
  await runSeeds({
    program,
    processes,
    next: () => (found || seeds >= seedsMax ? undefined : ++seeds),
    ended: (result) => {
      if (result.fault !== undefined && (!found || result.seed < found.seed)) found = result
    },
  })
  await remove()
  return { name, found, seeds, seconds: (performance.now() - begun) / 1000 }
}

function patchOf(name: string): string {
  return join(folder, `${name}.patch`)
}

/** In this folder alone: a repository that it may lie in is none of its. */
function git(cwd: string, args: readonly string[]): void {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) }
  execFileSync('git', [...args], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
}
