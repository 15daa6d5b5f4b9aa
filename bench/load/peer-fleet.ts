import { objectUpdated } from '#bench/bare/object-updated'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import type { Protocol } from '#bench/load/peer-protocols'
import { PeerSocket } from '#bench/load/peer-socket'
import { firstPropId } from '#bench/load/update-template'

export interface PeerFleetOptions {
  readonly protocol: Protocol
  readonly port: number
  readonly devices: number
  readonly links: number
  readonly prefix: string
}

/** Every message is as long as the others. */
const firstAddress = 10_000
/** A text with room for seven digits: the number of a change is the last value in it, in hundredths. */
const firstCarried = 1_000_000
const sample = firstCarried / 100 + 0.25
const sampleDigits = '10000.25'

/**
 * Devices behind links as `LoadFleet` has them, on a system that takes ready texts: the very text that this server makes
 * of a change, to a topic of the device where there are topics.
 */
export class PeerFleet {
  sent = 0
  bytes = 0
  readonly #options: PeerFleetOptions
  readonly #templates: readonly Buffer[]
  readonly #digitsAt: number
  readonly #links: PeerSocket[] = []
  readonly #places: number[]
  #turn = 0
  #failure: Error | undefined
  #pace: { readonly startedAt: number; readonly intervalMs: number } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: PeerFleetOptions) {
    this.#options = options
    const { protocol, devices, prefix, links } = options
    this.#places = Array.from({ length: links }, () => 0)
    this.#templates = Array.from({ length: devices }, (_, device) => {
      const identifier = identifierOf(prefix, device)
      return protocol.publish(identifier, payloadOf(device, identifier))
    })
    this.#digitsAt = this.#templates[0]?.lastIndexOf(sampleDigits) ?? 0
    if (this.#templates.some((template) => template.lastIndexOf(sampleDigits) !== this.#digitsAt))
      throw new Error('messages differ in length')
    if (this.#digitsAt <= 0) throw new Error('there is no number in a message')
  }

  async open(): Promise<void> {
    const { protocol, port, links } = this.#options
    await Promise.all(
      Array.from({ length: links }, async (_, number) => {
        this.#links[number] = await PeerSocket.open({
          port,
          steps: protocol.introduce({ port, number }),
          received: () => {},
          closed: () => {
            this.#failure ??= new Error('a link was closed')
          },
        })
      }),
    )
  }

  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** As many changes, all of one link in one piece; links take turns. */
  sendTogether(count: number): void {
    this.#send(this.#turn++ % this.#options.links, count, this.sent, 1)
    this.sent += count
  }

  /** Sends at a steady rate: every millisecond each link sends what is due. */
  beginPace(changesPerSecond: number): void {
    const { links } = this.#options
    this.sent = 0
    this.#pace = { startedAt: performance.now(), intervalMs: 1000 / changesPerSecond }
    const next = Array.from({ length: links }, (_, link) => link)
    this.#timer = setInterval(() => {
      const due = this.#dueNow()
      for (let link = 0; link < links; link++) {
        const first = next[link] as number
        const count = Math.ceil((due - first) / links)
        if (count <= 0) continue
        this.#send(link, count, first, links)
        next[link] = first + count * links
      }
      this.sent = Math.max(this.sent, due)
    }, 1)
  }

  /** What is due by now is sent by now, but for the last millisecond's: that is left. */
  pause(): void {
    clearInterval(this.#timer)
  }

  dueAt(number: number): number | undefined {
    const place = number - firstCarried
    return this.#pace && place >= 0 ? this.#pace.startedAt + place * this.#pace.intervalMs : undefined
  }

  #dueNow(): number {
    const pace = this.#pace
    return pace ? Math.floor((performance.now() - pace.startedAt) / pace.intervalMs) + 1 : 0
  }

  #send(link: number, count: number, first: number, step: number): void {
    const { devices, links } = this.#options
    const size = this.#templates[0]?.length ?? 0
    const bytes = Buffer.allocUnsafe(count * size)
    for (let written = 0; written < count; written++) {
      const place = this.#places[link] as number
      const device = link + place * links
      this.#places[link] = device + links < devices ? place + 1 : 0
      const at = written * size
      ;(this.#templates[device] as Buffer).copy(bytes, at)
      writeCarried(bytes, at + this.#digitsAt, firstCarried + first + written * step)
    }
    this.bytes += bytes.length
    this.#links[link]?.write(bytes)
  }
}

/** What this server says of a change, but for time and numbers as long as those of a load are. */
export function payloadOf(device: number, identifier: string): Buffer {
  const event = objectUpdated(Date.now(), firstCarried, firstAddress + device, identifier, serviceIdentifier, [
    firstPropId,
    sample,
  ])
  return Buffer.from(JSON.stringify(event))
}

const zero = 0x30
const pointFromEnd = 2

/** `12345.67` of 1234567. */
function writeCarried(into: Buffer, at: number, carried: number): void {
  let rest = carried
  for (let place = sampleDigits.length - 1; place >= 0; place--) {
    if (place === sampleDigits.length - 1 - pointFromEnd) continue
    into[at + place] = zero + (rest % 10)
    rest = Math.floor(rest / 10)
  }
}
