import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'

/**
 * Child processes to kill and folders to remove when this process exits, except by a signal that it does not handle.
 * Processes first, because they could still write to the folders.
 */
const children = new Set<ChildProcess>()
const folders = new Set<string>()

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  // Retries while a killed process still writes.
  for (const path of folders) rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 })
})

export function killAtExit(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

/** Returns a function to call when the folder was removed before the exit. */
export function removeAtExit(path: string): () => void {
  folders.add(path)
  return () => folders.delete(path)
}
