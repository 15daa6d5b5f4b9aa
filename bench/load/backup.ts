import { get } from 'node:http'
import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { authorizationHeader } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/harness/under-load'

/** Who takes one backup after the other, and keeps nothing of them. */
export interface BackupResult extends CpuUse {
  readonly backups: number
  readonly bytes: number
}

let spec: LoadedServer

answerWith({
  open(asked: LoadedServer) {
    spec = asked
  },

  /** No backup is begun after so long. */
  async run({ milliseconds }: { readonly milliseconds: number }): Promise<BackupResult> {
    const clock = new CpuClock(spec.serverProcessId)
    const end = performance.now() + milliseconds
    let backups = 0
    let bytes = 0
    while (backups === 0 || performance.now() < end) {
      bytes += await taken()
      backups++
    }
    return { ...clock.read(), backups, bytes }
  },
})

/** How long it was. That it is whole says the end of the answer. */
function taken(): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = authorizationHeader(spec.authorizations?.person)
    get(`http://127.0.0.1:${spec.port}/api/v1/backup`, { agent: false, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`a backup was answered ${answer.statusCode}`))
      let bytes = 0
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length
      })
      answer.on('error', reject)
      answer.on('end', () => resolve(bytes))
    }).on('error', reject)
  })
}
