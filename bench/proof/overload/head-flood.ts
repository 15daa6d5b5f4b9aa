import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { count, type Ends } from '#bench/proof/overload/ends'
import { askAlone } from '#bench/proof/overload/lone-request'

/** Heads that are too large, or as large as they may be, one after the other on many connections. */
export interface HeadFloodOptions extends LoadedServer {
  /** Of each kind at a time. */
  readonly atOnce: number
}

const timeoutMs = 60_000
const line = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n'

const many = (headers: number) => Array.from({ length: headers }, (_, place) => `X-${place}: ${place}\r\n`).join('')

/** 16 KiB in all may stand before a body. */
const kinds: Readonly<Record<string, string>> = {
  'a value of 12 KiB': `${line}X-A: ${'a'.repeat(12_288)}\r\n\r\n`,
  'ninety headers': `${line}${many(90)}\r\n`,
  'a token of 12 KiB': `${line.replace('health', 'devices')}Authorization: Bearer ${'a'.repeat(12_288)}\r\n\r\n`,
  'two hundred headers': `${line}${many(200)}\r\n`,
  'ten thousand headers': `${line}${many(10_000)}\r\n`,
  'a value of 1 MiB': `${line}X-A: ${'a'.repeat(2 ** 20)}\r\n\r\n`,
  'a name without an end': `${line}${'a'.repeat(17_408)}`,
  'line ends without an end': '\r\n'.repeat(10_000),
}

let options: HeadFloodOptions

answerWith({
  open(asked: HeadFloodOptions): void {
    options = asked
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    const ends: Ends = {}
    const over = performance.now() + seconds * 1000
    const send = async (what: string, bytes: Buffer) => {
      do count(ends, `${what}: ${(await askAlone({ port: options.port, bytes, timeoutMs })).end}`)
      while (performance.now() < over)
    }
    const all = Object.entries(kinds).flatMap(([what, text]) => {
      const bytes = Buffer.from(text, 'latin1')
      return Array.from({ length: options.atOnce }, () => send(what, bytes))
    })
    await Promise.all(all)
    return ends
  },

  close(): void {},
})
