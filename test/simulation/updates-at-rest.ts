import { createHash } from 'node:crypto'
import { type ProjectState, projectAddress, scanningIndex } from '#actors/project/state'
import { type StoredUpdate, updateAddress, updateRecord, updatingIndex } from '#actors/update/state'
import { waitingAttempts } from '#actors/update/transition'
import type { SeededRandom } from '#bench/random'
import type { UpdateOptions } from '#firmware/options'
import { releaseName } from '#model/release'
import type { BlobStore } from '#runtime/blobs'
import type { FaultInjector } from '#test/simulation/fault-injector'
import { mayDo } from '#test/simulation/reference-filter'
import {
  expectedFirmware,
  expectedOnRequest,
  hasTooManyErrors,
  isSelected,
  type ProjectData,
  type ReadRelease,
  type ReadRollout,
  type ReadUpdates,
} from '#test/simulation/reference-updates'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import type { SimulatedPeople } from '#test/simulation/simulated-people'
import { answerOf, tenant } from '#test/simulation/simulated-server'
import { nameOf, project, type SimulatedUpdates } from '#test/simulation/simulated-updates'
import type { Simulation } from '#test/simulation/simulation'
import type { StoredReports } from '#test/simulation/stored-reports'
import type { Witness } from '#test/simulation/witness'

interface Parts {
  readonly people: SimulatedPeople
  readonly updates: SimulatedUpdates
  readonly injector: FaultInjector
  readonly devices: readonly SimulatedDevice[]
  readonly images: BlobStore
  readonly options: Partial<UpdateOptions>
}

/** After this many triggers a device with two firmwares, one of which cannot be installed, has the other one. */
const triggersMax = 4
const roundsMax = 90
const parameters = { project }

/** Completes all updates and checks that every device has its expected firmware. */
export class UpdatesAtRest {
  readonly #random: SeededRandom
  readonly #witness: Witness
  readonly #run: Simulation
  readonly #parts: Parts

  constructor(random: SeededRandom, witness: Witness, run: Simulation, parts: Parts) {
    this.#random = random
    this.#witness = witness
    this.#run = run
    this.#parts = parts
  }

  /** Call when no requests are sent to the server any more. */
  async end(): Promise<void> {
    const run = this.#run
    const { updates, people, injector } = this.#parts
    const since = this.#random.next() < 0.5 ? run.server.now() : Number.POSITIVE_INFINITY
    if (this.#random.next() < 0.7) updates.upload()
    await run.comeToRest()
    if (since < Number.POSITIVE_INFINITY) {
      updates.putRollout({ as: people.root })
      if (this.#random.next() < 0.4) await injector.breakSoon(6)
    }
    await run.comeToRest()
    await this.#endJobs()
    for (let count = 0; ; count++) {
      const lacking = await run.pumped(this.#lacking())
      if (lacking.length === 0) break
      if (count >= triggersMax) throw new Error(`${lacking.join(', ')}, and has not`)
      await this.#trigger()
      await this.#endJobs()
    }
    await run.pumped(this.#check(since))
  }

  /** The last update events match the state that the API shows. */
  async checkStatuses(stored: StoredReports): Promise<void> {
    for (const { deviceIdentifier: device, firmwares } of await this.#run.pumped(this.shown())) {
      for (const { index, update } of firmwares) {
        const event = stored.lastUpdate(device, index)
        if (event === 'unknown') continue
        const [here, there] = [JSON.stringify(sorted(event)), JSON.stringify(sorted(update))]
        if (here !== there) this.#witness.report(`${device}: update events of ${index} give ${here}, the API ${there}`)
        if (update) this.#witness.count('update statuses compared')
      }
    }
  }

  /** Devices that died during an update reboot and reconnect; a few stay offline. */
  async #endJobs(): Promise<void> {
    const run = this.#run
    const { devices } = this.#parts
    const isPatient = this.#random.next() < 0.03
    for (const device of devices) {
      if (this.#random.next() < 0.03) continue
      if (device.isAway && this.#isRunning(device)) device.isAway = false
      if (device.firmware.isDead) device.reboot()
    }
    for (let round = 0, ms = 50; round < roundsMax; round++, ms = Math.min(60_000, ms * 1.5)) {
      await run.advance(ms)
      await run.comeToRest()
      const isGoingOn = (await run.pumped(this.#has(updatingIndex))) || (await run.pumped(this.#has(scanningIndex)))
      const isWaiting = isPatient && devices.some(({ name }) => this.#waitsFor(name))
      if (!isGoingOn && !isWaiting && round > 0) return
    }
    throw new Error('an update does not end')
  }

  /** Triggers updates in a way that considers every device. */
  async #trigger(): Promise<void> {
    const run = this.#run
    const { devices, options, people, updates } = this.#parts
    const ways = [
      ...(options.isConnectUpdateDisabled ? [] : ['connect']),
      ...(options.isHookForPinsOnly ? [] : ['hook']),
      ...(options.autoUpdate === undefined ? [] : ['cron']),
    ]
    const way = ways[this.#random.below(ways.length)]
    this.#witness.count(`all considered by ${way}`)
    if (way === 'hook') updates.hook(null, { as: people.root })
    else if (way === 'cron') await run.advance(60_000)
    else {
      for (const device of devices) if (device.socket && device.isLinked) device.hello(device.socket)
    }
    await run.comeToRest()
  }

  /** Devices that should get a firmware automatically and do not have it. */
  async #lacking(): Promise<readonly string[]> {
    const data = await this.#data()
    const shown = await this.shown()
    return this.#parts.devices.flatMap(({ name, firmware, isLinked }) => {
      const entry = shown.find(({ deviceIdentifier }) => deviceIdentifier === name)
      if (!entry || !isLinked) return []
      const known = entry.firmwares.map(({ updateAvailable: _, update: __, ...declared }) => declared)
      if (JSON.stringify(known) !== JSON.stringify(firmware.firmwares))
        this.#witness.report(
          `${name} has ${JSON.stringify(firmware.firmwares)}, the API shows ${JSON.stringify(known)}`,
        )
      if (entry.project === null) return []
      return entry.firmwares.flatMap(({ updateAvailable, ...declared }) => {
        const installed = { ...declared, device: name }
        if (updateAvailable !== (expectedOnRequest(data, installed) !== undefined))
          this.#witness.report(`${name} has ${updateAvailable ? 'an' : 'no'} update of ${JSON.stringify(declared)}`)
        const what = expectedFirmware(data, installed)
        if (what === undefined) return []
        this.#witness.count('an update is missing')
        if (!firmware.isAccepting || this.#isHeldBack(name, declared.index, what)) return []
        return [`${name} should have ${what} of ${declared.index}`]
      })
    })
  }

  /** This firmware was tried before, too often or too recently. */
  #isHeldBack(device: string, index: number, firmware: string): boolean {
    const tried = this.#storedOf(device)?.attempts.find((each) => each.index === index && each.firmware === firmware)
    if (!tried || (tried.rollout !== null && tried.rollout !== this.#projectNow().rollout?.id)) return false
    return tried.nextAt === null || tried.nextAt > this.#run.server.now()
  }

  /** A further automatic attempt is scheduled. */
  #waitsFor(device: string): boolean {
    const waiting = waitingAttempts(this.#storedOf(device)?.attempts ?? [])
    return waiting.some(({ nextAt }) => nextAt > this.#run.server.now())
  }

  async #check(since: number): Promise<void> {
    const data = await this.#data()
    const shown = await this.shown()
    this.#checkCounts(data, since, shown)
    this.#checkThreshold(data, shown)
    await this.#checkImages(data.releases)
    this.#parts.updates.settle(data.pins, new Set(data.releases.map(nameOf)))
  }

  /** The counts kept during the run equal those counted now. */
  #checkCounts(data: ProjectData, since: number, shown: readonly ReadUpdates[]): void {
    const { rollout: stored, tally } = this.#projectNow()
    // Nothing is in use, unless a timer has started something since.
    const [held, uses] = [this.#heldReleases(), JSON.stringify(sorted(tally.uses))]
    if (uses !== held) this.#witness.report(`releases counted as in use are ${uses}, expected ${held}`)
    const { rollout } = data
    if (!rollout || !stored) return
    const counted = { running: 0, done: 0, failed: 0, refused: 0 }
    for (const { name } of this.#parts.devices) {
      const counts = this.#storedOf(name)?.counted
      if (counts?.rollout === stored.id) counted[counts.stage]++
    }
    const { chosen, running, done, failed, refused } = rollout.counts
    const shownCounts = { running, done, failed, refused }
    if (JSON.stringify(shownCounts) !== JSON.stringify(counted))
      this.#witness.report(`rollout counts are ${JSON.stringify(shownCounts)}, expected ${JSON.stringify(counted)}`)
    if (done !== undefined && done > 0) this.#witness.count('rolled out')
    if (rollout.updatedAt < since || rollout.state !== 'running') return
    const meant = shown.filter((each) => each.project === project && isSelected(data, rollout, each.deviceIdentifier))
    this.#witness.count('chosen compared')
    if (chosen !== meant.length) this.#witness.report(`${chosen} devices are chosen, expected ${meant.length}`)
  }

  /** The number of running updates of each release. */
  #heldReleases(): string {
    const held: Record<string, number> = {}
    for (const { name } of this.#parts.devices) {
      const counted = this.#storedOf(name)?.counted
      if (counted?.stage !== 'running' || counted.project !== project) continue
      const release = releaseName(counted.release)
      held[release] = (held[release] ?? 0) + 1
    }
    return JSON.stringify(sorted(held))
  }

  /** A rollout with a threshold stops after too many errors, and for no other reason. */
  #checkThreshold({ rollout }: ProjectData, shown: readonly ReadUpdates[]): void {
    const { updates } = this.#parts
    updates.offers.stopped.seen(rollout, this.#run.server.now())
    const stored = this.#projectNow().rollout
    if (!rollout || !stored) return
    if (rollout.state === 'stopped') this.#witness.count('rollout stopped')
    if (rollout.state !== 'running') return
    const finished = shown.flatMap(({ deviceIdentifier: device, firmwares }) => {
      const { rollout: by, stage } = this.#storedOf(device)?.counted ?? {}
      if (by !== stored.id || stage === undefined || stage === 'running') return []
      // Results from before the last change do not count.
      const isSince = firmwares.some(
        ({ update }) => update?.firmware === rollout.firmware && Number(update?.at) > rollout.updatedAt,
      )
      return isSince ? [stage] : []
    })
    if (finished.some((stage) => stage !== 'done')) this.#witness.count('rollout with errors runs')
    if (hasTooManyErrors(rollout, finished))
      this.#witness.report(`a rollout still runs at ${rollout.errorThresholdPercent} %: ${finished.join(', ')}`)
  }

  /** The disk holds the images that releases name. After a failed write further images may remain until the next start. */
  async #checkImages(releases: readonly ReadRelease[]): Promise<void> {
    const { images, updates } = this.#parts
    const named = new Map(releases.map(({ sha256, size }) => [sha256, size]))
    const isExact = this.#run.server.assembly.context.system.gate.closedCount === 0
    const known = [...updates.images].map((text) => createHash('sha256').update(text).digest('hex'))
    for (const sha256 of new Set([...known, ...named.keys()])) {
      const size = await images.sizeOf(sha256)
      const isAsNamed = size === named.get(sha256)
      if (!isAsNamed && (isExact || named.has(sha256)))
        this.#witness.report(`image ${sha256} has ${size} bytes, the release names ${named.get(sha256)}`)
    }
  }

  async #data(): Promise<ProjectData> {
    const { devices, people } = this.#parts
    const { server } = this.#run
    const read = async <T>(name: string, more: object = {}): Promise<T | undefined> => {
      const { body, refused } = await answerOf(server.call(name, { parameters: { ...parameters, ...more } }))
      if (refused === undefined) return JSON.parse(body)
      if (refused !== 'not_found') throw new Error(`${name}: ${refused}`)
      return undefined
    }
    const pins = new Map<string, string>()
    for (const { name } of devices) {
      const pin = await read<{ firmware: string }>('readPin', { deviceIdentifier: name })
      if (pin) pins.set(name, pin.firmware)
    }
    const groups = (await read<{ resourceIdentifier: string; devices: string[] }[]>('listGroups')) ?? []
    return {
      project,
      pins,
      releases: (await read<ReadRelease[]>('listReleases')) ?? [],
      rollout: await read<ReadRollout>('readRollout'),
      groups: new Map(groups.map((group) => [group.resourceIdentifier.split(':')[1] ?? '', group.devices])),
      mayUpdate: (author, device) => mayDo(people.grantsOf(author), 'updates', ['update'], device),
    }
  }

  /** The answers for a caller who may see everything. */
  async shown(): Promise<readonly ReadUpdates[]> {
    return JSON.parse((await this.#run.server.call('listUpdates', { query: { depth: 2 } })).body)
  }

  async #has(index: string): Promise<boolean> {
    const pages = this.#run.server.assembly.context.listing.entries(index, tenant)
    try {
      return (await pages.next(1)).length > 0
    } finally {
      await pages.close()
    }
  }

  #isRunning({ name }: SimulatedDevice): boolean {
    return (this.#storedOf(name)?.context.deadline ?? null) !== null
  }

  #storedOf(device: string): StoredUpdate | undefined {
    const { system } = this.#run.server.assembly.context
    return system.recordOf(updateAddress(tenant, device), updateRecord) as StoredUpdate | undefined
  }

  #projectNow(): ProjectState {
    return this.#run.server.assembly.context.system.peek(projectAddress(tenant, project)) as ProjectState
  }
}

function sorted(fields: object | undefined): object | undefined {
  return fields && Object.fromEntries(Object.entries(fields).sort(([one], [next]) => (one < next ? -1 : 1)))
}
