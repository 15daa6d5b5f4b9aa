import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { projectRoot } from '#bench/project-root'

/** What the figures of a report hold for. */
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
    commit: commitNow(),
    at: new Date().toISOString(),
  }
}

function commitNow(): string {
  const git = (...line: string[]) =>
    execFileSync('git', line, { cwd: projectRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'actors', 'bench', ':!bench/results')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ' with changes')
  } catch {
    return 'unknown'
  }
}
