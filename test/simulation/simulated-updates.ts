import { RequestEnded } from '#http/body-stream'
import type { World } from '#runtime/world'
import { OfferChecker } from '#test/simulation/offer-checker'
import { Participant } from '#test/simulation/participant'
import type { Participants } from '#test/simulation/participants'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import type { Outcome, SimulatedRequest, SimulatedServer } from '#test/simulation/simulated-server'

export const project = 'boiler'
const parameters = { project }

type Parts = Pick<Participants, 'requests' | 'people' | 'alarms'> & { readonly devices: readonly SimulatedDevice[] }

interface Upload {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly image: string
}

/** New releases have versions above this number; the first firmwares of the devices have lower ones. */
const firstNumber = 3
const sharedImage = 'an image that several releases have'
const silentRefusals: ReadonlySet<string | undefined> = new Set(['storage', 'overloaded', 'conflict', 'not_found'])

/**
 * Users who update devices: they upload releases, pin devices to versions, start rollouts, request updates and call the
 * hook. Each offer to a device is checked when it arrives. Contract 6.
 */
export class SimulatedUpdates extends Participant<Parts> {
  /** By name: uploads that were acknowledged, unless a deletion was requested since. */
  readonly #releases = new Map<string, Upload>()
  readonly images = new Set<string>()
  readonly offers = new OfferChecker(this.server, this.witness, this.parts.devices)
  #lastNumber = firstNumber
  /** The number of requested deletions: one that is requested during an upload may delete its release. */
  #deletions = 0

  override moveTo(server: SimulatedServer): void {
    super.moveTo(server)
    this.offers.moveTo(server)
  }

  act(): void {
    const tried = this.random.next()
    if (tried < 0.18) this.upload()
    else if (tried < 0.31) this.#pin()
    else if (tried < 0.35) this.#unpin()
    else if (tried < 0.48) this.putRollout()
    else if (tried < 0.53) this.#switch('pauseRollout')
    else if (tried < 0.58) this.#switch('resumeRollout')
    else if (tried < 0.61) this.#switch('deleteRollout')
    else if (tried < 0.64) this.#deleteRelease()
    else if (tried < 0.7) this.hook(this.random.next() < 0.6 ? null : this.#randomDevices())
    else this.#trigger()
  }

  /** Sets the rollout, with random values. */
  putRollout(request: SimulatedRequest = this.#author()): void {
    const random = this.random
    const groups = this.parts.alarms.groupsThere.filter(() => random.next() < 0.3).sort()
    const body = {
      firmware: this.#randomVersion(),
      percent: this.pick([100, 100, 100, 50, 20]),
      ...(groups.length > 0 && { groups }),
      ...(random.next() < 0.5 && { errorThresholdPercent: this.pick([0, 20, 40, 60]) }),
      ...(random.next() < 0.5 && { maxAttempts: 1 + random.below(3) }),
      ...(random.next() < 0.1 && { window: { cron: '* * * * *', minutes: 1 } }),
    }
    this.#ask('putRollout', { ...request, parameters, body }, undefined, () => this.offers.stopped.changed())
  }

  /** Calls the hook for some devices, or for the whole project. */
  hook(devices: readonly string[] | null, by: SimulatedRequest = this.#author()): void {
    const body = devices ? { devices } : {}
    const named = { parameters: { projectIdentifier: project }, bodyBytes: Buffer.from(JSON.stringify(body)) }
    this.watch(this.answerTo('callUpdateHook', { ...by, ...named }))
  }

  /** All outcomes are known: earlier pins do not count any more. */
  settle(pins: ReadonlyMap<string, string>, names: ReadonlySet<string>): void {
    this.offers.settle(pins)
    for (const name of this.#releases.keys())
      if (!names.has(name)) this.witness.report(`release ${name} was uploaded, and is gone`)
  }

  #ask(name: string, request: SimulatedRequest, onOutcome = (_: Outcome) => {}, onSend = () => {}): void {
    this.parts.requests.ask({
      name,
      request,
      sent: () => {
        onSend()
        return onOutcome
      },
    })
  }

  /** The administrator in the name of root or a user, whose permissions limit the result. */
  #author(): SimulatedRequest {
    const { root, persons } = this.parts.people
    const person = this.pick(persons)
    return { as: this.random.next() < 0.75 ? root : person.account }
  }

  #pin(): void {
    const device = this.pick(this.parts.devices).name
    const known = [...this.#releases.values()]
    const isOld = known.length > 0 && this.random.next() < 0.3
    const firmware = isOld ? this.pick(known.slice(0, 4)).firmware : this.#randomVersion()
    const request = { parameters: { project, deviceIdentifier: device }, body: { firmware } }
    this.#ask('putPin', request, undefined, () => this.offers.pinned(device, firmware))
  }

  #unpin(): void {
    const deviceIdentifier = this.pick([...this.offers.pinnedDevices, this.pick(this.parts.devices).name])
    this.#ask('deletePin', { parameters: { project, deviceIdentifier } })
  }

  /** Mostly the version of a recent release; otherwise any, also one without a release. */
  #randomVersion(): string {
    const known = [...this.#releases.values()].map(({ firmware }) => firmware)
    if (known.length > 0 && this.random.next() < 0.7) return this.pick(known.slice(-4))
    return versionOf(this.random.below(this.#lastNumber + 2))
  }

  #switch(name: string): void {
    this.#ask(name, { ...this.#author(), parameters }, undefined, () => this.offers.stopped.changed())
  }

  #trigger(): void {
    const linked = this.parts.devices.filter(({ isLinked }) => isLinked)
    // Devices that refuse automatic updates have the most updates left.
    const lagging = linked.filter(({ firmware }) => !firmware.isAccepting)
    const tried = this.random.next()
    const from =
      tried < 0.5 && lagging.length > 0 ? lagging : tried < 0.85 && linked.length > 0 ? linked : this.parts.devices
    const device = this.pick(from)
    const request = { parameters: { deviceIdentifier: device.name } }
    const onSend = () => this.offers.requested(device.name)
    this.#ask('triggerUpdate', request, (outcome) => this.#onOutcome(device, outcome), onSend)
  }

  /** Checks the answer to a requested update. */
  #onOutcome({ name, firmware }: SimulatedDevice, { status, body, refused }: Outcome): void {
    if (refused !== undefined || status !== 200) {
      const isOver = status === 404 || silentRefusals.has(refused)
      if (!isOver) this.witness.report(`updating ${name} is refused: ${refused ?? `${status} ${body}`}`)
      return
    }
    const result = JSON.parse(body)
    this.witness.count(`update ${result.status}`)
    const report = (what: string) => this.witness.report(`${name} ${what}, and the answer is ${body}`)
    if (result.status === 'STARTED' && !firmware.hasBegun) report('never began')
    if (result.status === 'DEVICE_NOT_OK' && !firmware.hasFailed) report('never failed')
    const isOurs = result.status === 'SERVER_ERROR' || result.status.startsWith('UPDATE_SERVER')
    if (isOurs && this.#failures === 0) report('was asked for, and nothing failed')
  }

  get #failures(): number {
    return this.server.assembly.context.system.gate.closedCount
  }

  #deleteRelease(): void {
    const release = this.pick([...this.#releases.values()])
    if (!release) return
    const { firmware, hardware, index } = release
    this.#ask(
      'deleteRelease',
      { parameters: { project, firmware }, query: { index, ...(hardware !== undefined && { hardware }) } },
      () => this.offers.unprotectUpdates(),
      () => {
        this.#deletions++
        this.#releases.delete(nameOf(release))
        this.offers.unprotectUpdates()
      },
    )
  }

  /** Mostly a new release; otherwise an existing one, with the same bytes or others. Whole, in parts, or truncated. */
  upload(): void {
    const random = this.random
    const before = random.next() < 0.2 ? this.pick([...this.#releases.values()]) : undefined
    const number = random.next() < 0.7 ? ++this.#lastNumber : 1 + random.below(this.#lastNumber)
    const image = random.next() < 0.2 ? sharedImage : `image ${random.below(1_000_000)} of ${number}`
    const made: Upload = {
      firmware: versionOf(number),
      ...(random.next() < 0.25 && { hardware: 'h1' }),
      index: random.next() < 0.8 ? 0 : 1,
      image,
    }
    const upload = before ? { ...before, ...(random.next() < 0.2 && { image: `${before.image}!` }) } : made
    this.watch(random.next() < 0.6 ? this.#send(upload, 0, undefined) : this.#sendParts(upload))
  }

  async #sendParts(upload: Upload): Promise<void> {
    const { length } = upload.image
    const standing = await this.#put(upload, { 'content-range': `bytes */${length}` }, 0, 0)
    const from = standing?.status === 202 ? JSON.parse(standing.body).received : 0
    const middle = Math.floor((from + length) / 2)
    if (middle > from) await this.#send(upload, from, middle)
    await this.#send(upload, Math.max(from, middle), length)
  }

  /** The whole body if no end is given. */
  async #send(upload: Upload, from: number, to: number | undefined): Promise<void> {
    const { length } = upload.image
    const headers = to === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${length}` }
    if (to === from) return
    const deletions = this.#deletions
    const answer = await this.#put(upload, headers, from, to ?? length)
    if (!answer || answer.refused !== undefined || answer.status === 202) return
    const name = nameOf(upload)
    const before = this.#releases.get(name)
    if (before && before.image !== upload.image) this.witness.report(`release ${name} has other bytes now`)
    // A deletion requested meanwhile may have taken effect after the upload.
    if (this.#deletions === deletions) this.#releases.set(name, upload)
    this.witness.count('release made')
  }

  async #put(upload: Upload, headers: Readonly<Record<string, string>>, from: number, to: number) {
    const { firmware, hardware, index, image } = upload
    const bytes = Buffer.from(image.slice(from, to))
    const goneAt = this.random.next() < 0.1 ? this.random.below(bytes.length + 1) : bytes.length
    this.images.add(image)
    const query = { index, ...(hardware !== undefined && { hardware }) }
    const pieces = chunkedBody(bytes, goneAt, this.server.assembly.context.world)
    try {
      return await this.answerTo('putRelease', { parameters: { project, firmware }, query, headers, pieces })
    } catch (error) {
      if (error instanceof RequestEnded) return undefined
      throw error
    }
  }

  #randomDevices(): readonly string[] {
    return this.parts.devices.map(({ name }) => name).filter(() => this.random.next() < 0.5)
  }
}

/** The name of a release in the records of this simulation. */
export function nameOf({ firmware, hardware, index }: Omit<Upload, 'image'>): string {
  return `${firmware} for ${hardware ?? 'any'} at ${index}`
}

function versionOf(number: number): string {
  return `1.${number}.0`
}

const pieceBytes = 20

/**
 * A body in chunks. It breaks off before the chunk that would go beyond `goneAt` bytes, unless that is the whole
 * length.
 */
function chunkedBody(bytes: Uint8Array, goneAt: number, world: World): NonNullable<SimulatedRequest['pieces']> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await new Promise<void>((resolve) => world.soon(resolve))
      if (at + pieceBytes > goneAt && goneAt < bytes.length) throw new RequestEnded()
      yield bytes.subarray(at, at + pieceBytes)
    }
  }
  return { lengthBytes: bytes.length, [Symbol.asyncIterator]: pieces }
}
