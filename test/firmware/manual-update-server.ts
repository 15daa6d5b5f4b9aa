import type { UpdateServer } from '#firmware/update-server'
import { type OfferedFirmware, type UpdateQuery, UpdateServerFailed } from '#model/update-offer'

interface PendingQuery {
  readonly query: UpdateQuery
  answer(offered: OfferedFirmware | undefined): void
}

/** An external update server that answers as a test specifies, at once or later. */
export class ManualUpdateServer implements UpdateServer {
  readonly isEmbedded = false
  /** All queries in order. */
  readonly queries: UpdateQuery[] = []
  /** Unanswered queries. */
  pending: PendingQuery[] = []
  pendingMax = 0
  /** Returns the answer or throws the failure; with `later` the query stays in `pending`. */
  answerTo: (query: UpdateQuery) => OfferedFirmware | undefined | 'later' = () => undefined

  async check(query: UpdateQuery): Promise<OfferedFirmware | undefined> {
    this.queries.push(query)
    const answer = this.answerTo(query)
    if (answer !== 'later') return answer
    return await new Promise((resolve) => {
      const pending: PendingQuery = {
        query,
        answer: (offered) => {
          this.pending = this.pending.filter((other) => other !== pending)
          resolve(offered)
        },
      }
      this.pending.push(pending)
      this.pendingMax = Math.max(this.pendingMax, this.pending.length)
    })
  }

  get devices(): readonly string[] {
    return this.queries.map(({ device }) => device)
  }
}

export function queryOf(device: string, more: Partial<UpdateQuery> = {}): UpdateQuery {
  const firmware = { firmware: '1.0.0', index: 0 }
  return { tenant: 'default', device, project: 'boiler', ...firmware, isAutomatic: true, ...more }
}

export const offer: OfferedFirmware = {
  firmware: '2.0.0',
  index: 0,
  sha256: 'ab'.repeat(32),
  size: 1,
  isPinned: false,
  url: 'https://images.example/boiler.bin',
  rollout: null,
}

export const failure = new UpdateServerFailed('the update server answered 500')
