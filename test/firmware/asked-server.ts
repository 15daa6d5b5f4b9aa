import type { UpdateServer } from '#firmware/update-server'
import { type OfferedFirmware, type UpdateQuery, UpdateServerFailed } from '#model/update-offer'

interface Asked {
  readonly question: UpdateQuery
  answer(offered: OfferedFirmware | undefined): void
  fail(error: Error): void
}

/** An update server somewhere else that answers at once what a test says, or when it says so. */
export class AskedServer implements UpdateServer {
  readonly isEmbedded = false
  /** All that were asked, in order. */
  readonly questions: UpdateQuery[] = []
  /** Those that were not answered yet. */
  open: Asked[] = []
  mostAtOnce = 0
  /** What is thrown is what it fails with; 'later': a test answers. */
  answering: (question: UpdateQuery) => OfferedFirmware | undefined | 'later' = () => undefined

  async check(question: UpdateQuery): Promise<OfferedFirmware | undefined> {
    this.questions.push(question)
    const said = this.answering(question)
    if (said !== 'later') return said
    return await new Promise((answered, failed) => {
      const asked: Asked = {
        question,
        answer: (offered) => this.#end(asked, () => answered(offered)),
        fail: (error) => this.#end(asked, () => failed(error)),
      }
      this.open.push(asked)
      this.mostAtOnce = Math.max(this.mostAtOnce, this.open.length)
    })
  }

  get devices(): readonly string[] {
    return this.questions.map(({ device }) => device)
  }

  #end(asked: Asked, tell: () => void): void {
    this.open = this.open.filter((other) => other !== asked)
    tell()
  }
}

export function questionOf(device: string, more: Partial<UpdateQuery> = {}): UpdateQuery {
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
