import { projectAddress } from '#actors/project/address'
import { hardwareKey } from '#actors/project/release-index'
import { isNothing, type ProjectState } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/address'
import { isChosen } from '#firmware/chosen'
import { nextTime } from '#firmware/cron'
import type { UpdateServer } from '#firmware/update-server'
import type { Entry } from '#model/entry'
import { isNewer } from '#model/firmware-order'
import type { StoredRelease } from '#model/release'
import { defaultAttempts, type RolloutBody, type StoredRollout } from '#model/rollout'
import { reachesDevice, type Scope } from '#model/scope'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'
import type { System } from '#runtime/system'

export interface EmbeddedUpdateServerParts {
  readonly system: System<Entry>
  now(): number
  /** What the author of a rollout may do now. */
  scopeOf(tenant: string, author: string): Scope
}

/**
 * The update server that is part of this one: it answers from the projects, at once and without a turn. Contract 6.
 *
 * What it says may not be stored yet: whoever shows it waits for `gate.settled`, and what is begun by it is stored behind it.
 */
export class EmbeddedUpdateServer implements UpdateServer {
  readonly isEmbedded = true
  readonly #parts: EmbeddedUpdateServerParts
  readonly #windows = new OpenWindows()

  constructor(parts: EmbeddedUpdateServerParts) {
    this.#parts = parts
  }

  /** The caller knows that there is such a tenant. @throws Problem `storage` */
  check(question: UpdateQuery): OfferedFirmware | undefined {
    const project = this.#projectOf(question)
    const choice = chooseRelease(project, question, (rollout) => this.#isMeant(rollout, question))
    if (!choice) return undefined
    const { release, isPinned, rollout } = choice
    const { firmware, hardware, index, sha256, size } = release
    return {
      firmware,
      ...(hardware !== null && { hardware }),
      index,
      sha256,
      size,
      isPinned,
      url: null,
      rollout: rollout && { id: rollout.id, maxAttempts: rollout.body.maxAttempts ?? defaultAttempts },
    }
  }

  /** Kept awake when there is anything: the next device of it asks soon. Devices may name any project. */
  #projectOf({ tenant, project }: UpdateQuery): ProjectState {
    const { system } = this.#parts
    const address = projectAddress(tenant, project)
    const state = system.peek(address)
    return isNothing(state) ? state : system.wake(address)
  }

  /** Whether a rollout begins with this device by itself, now. */
  #isMeant(rollout: StoredRollout, { tenant, project, device }: UpdateQuery): boolean {
    const { system, now, scopeOf } = this.#parts
    const membersOf = (group: string) => system.wake(tenantAddress(tenant)).groups.get(group)?.devices
    return (
      rollout.state === 'running' &&
      isChosen(project, rollout, device, membersOf) &&
      this.#windows.isOpen(rollout.body.window, now()) &&
      reachesDevice(scopeOf(tenant, rollout.updatedBy), 'updates', 'update', device)
    )
  }
}

type Window = NonNullable<RolloutBody['window']>

/** What holds from one moment to before another, Unix ms. */
interface Span {
  readonly isOpen: boolean
  readonly from: number
  readonly until: number
}

/**
 * Whether windows are open, for who asks again and again: a pattern is only read anew when it may have opened or closed
 * since. Nothing is remembered of a window that nobody holds any more.
 */
export class OpenWindows {
  readonly #spans = new WeakMap<Window, Span>()

  /** The same as `isOpen`. */
  isOpen(window: Window | undefined, now: number): boolean {
    if (!window) return true
    let span = this.#spans.get(window)
    if (!span || now < span.from || now >= span.until) {
      span = spanAt(window, now)
      this.#spans.set(window, span)
    }
    return span.isOpen
  }
}

function spanAt({ cron, minutes }: Window, now: number): Span {
  const openMs = minutes * 60_000
  const begins = nextTime(cron, now - openMs)
  if (begins === undefined) return { isOpen: false, from: now, until: Number.POSITIVE_INFINITY }
  return begins <= now
    ? { isOpen: true, from: now, until: begins + openMs }
    : { isOpen: false, from: now, until: begins }
}

/** What a device is to have, and why. */
interface ReleaseChoice {
  readonly release: StoredRelease
  readonly isPinned: boolean
  /** By which it comes, if by one. */
  readonly rollout: StoredRollout | null
}

/**
 * Which release of a project answers a question. In this order:
 *
 * 1. A device that is held at a version gets that one, older or newer, unless it has it; where there is no such release for
 *    it, it gets none. A version that there is for other firmwares of devices only does not hold this one.
 * 2. By itself, where there is a rollout, it gets what is rolled out, if that is newer and `isMeant` says so; else none.
 * 3. Otherwise it gets the newest, if that is newer.
 *
 * A release fits by its index, and by its hardware unless it is for any; the one that names it comes first.
 */
function chooseRelease(
  project: ProjectState,
  question: UpdateQuery,
  isMeant: (rollout: StoredRollout) => boolean,
): ReleaseChoice | undefined {
  const { device, firmware, isAutomatic } = question
  const held = project.pins.get(device)
  if (held !== undefined && isHeldAt(project, held, question)) {
    const release = releaseOf(project, held, question)
    return release && held !== firmware ? { release, isPinned: true, rollout: null } : undefined
  }
  const rollout = (isAutomatic && project.rollout) || null
  const release = rollout ? releaseOf(project, rollout.body.firmware, question) : newestOf(project, question)
  if (!release || !isNewer(release.firmware, firmware)) return undefined
  return !rollout || isMeant(rollout) ? { release, isPinned: false, rollout } : undefined
}

function isHeldAt({ releaseIndex }: ProjectState, version: string, { index }: UpdateQuery): boolean {
  const releases = releaseIndex.versions.get(version)
  return !releases || releases.some((release) => release.index === index)
}

/** The release of a version that fits. */
function releaseOf(
  { releaseIndex }: ProjectState,
  version: string,
  { index, hardware }: UpdateQuery,
): StoredRelease | undefined {
  const all = (releaseIndex.versions.get(version) ?? []).filter((release) => release.index === index)
  return (
    all.find((release) => release.hardware === (hardware ?? null)) ?? all.find((release) => release.hardware === null)
  )
}

function newestOf({ releaseIndex }: ProjectState, { index, hardware }: UpdateQuery): StoredRelease | undefined {
  const named = releaseIndex.newest.get(hardwareKey(index, hardware ?? null))
  const any = hardware === undefined ? undefined : releaseIndex.newest.get(hardwareKey(index, null))
  return named && any ? (isNewer(any.firmware, named.firmware) ? any : named) : (named ?? any)
}
