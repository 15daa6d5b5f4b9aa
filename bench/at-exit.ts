import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'

/**
 * What must be gone when this process is, however it ends (SIGKILL alone excepted): processes first, then folders, which
 * those could still write to. It may be gigabytes, and a server at full speed.
 */
const children = new Set<ChildProcess>()
const folders = new Set<string>()

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  // Tried again while somebody who was just killed is still at it.
  for (const path of folders) rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 })
})

export function killAtExit(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

/** Answers how to say that it was removed before. */
export function removeAtExit(path: string): () => void {
  folders.add(path)
  return () => folders.delete(path)
}
