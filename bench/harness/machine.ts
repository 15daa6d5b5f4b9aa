import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'

export interface Machine {
  readonly processors: string
  readonly memoryGib: number
  readonly system: string
  readonly node: string
  readonly commit: string
  readonly at: string
}

export function thisMachine(): Machine {
  return {
    processors: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    commit: commitOf(projectRoot),
    at: new Date().toISOString(),
  }
}

/** The launcher knows whether a build is current. */
interface Launcher {
  readonly buildSources: readonly string[]
  isBuilt(): boolean
}

/**
 * The checked-out commit; `+ changes` if built sources differ from it, and a note if the running build is not of the
 * present sources.
 */
function commitOf(root: string): string {
  const { buildSources, isBuilt } = createRequire(import.meta.url)(join(root, 'src/launch.cjs')) as Launcher
  const git = (...line: string[]) =>
    execFileSync('git', line, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const built = isBuilt() ? '' : ', but the build is of other sources'
  try {
    const changed = git('status', '--porcelain', '--', ...buildSources, ':!bench/results')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ' + changes') + built
  } catch {
    return `unknown${built}`
  }
}
