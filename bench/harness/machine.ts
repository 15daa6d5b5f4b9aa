import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'

/** The machine, Node, the commit and the time, for a report. */
export function machineText(): string {
  const processors = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown'}`
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const commit = `commit ${commitOf(projectRoot)}`
  const system = `${process.platform} ${process.arch}, Node ${process.version}`
  return `${[processors, memory, system, commit, new Date().toISOString()].join(', ')}.`
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
