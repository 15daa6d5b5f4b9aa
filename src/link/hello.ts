import type { DeclaredService, Hello, Welcome } from '#actors/device/commands'
import { newShapeCount } from '#actors/device/declaration'
import { type MemoryLimits, memoryProblem } from '#actors/device/memory'
import { type DeviceState, serviceOf } from '#actors/device/state'
import { type DeclarationRate, declaredService, readService, tooManyShapes } from '#link/declaration'
import type { FrameAbout } from '#link/device-frame'
import { type DeviceLinks, takeOversMax } from '#link/device-links'
import type { DevicePort } from '#link/device-port'
import { type Link, LinkedDevice } from '#link/link'
import type { Firmware } from '#model/entry'
import { type HelloHead, linkWindowMessages } from '#model/link-message'
import { Problem } from '#model/problem'
import type { InternShape } from '#model/shape'
import type { Responder } from '#runtime/actor'
import type { World } from '#runtime/world'

export interface HelloHandlerOptions {
  readonly world: World
  readonly port: DevicePort
  readonly intern: InternShape
  readonly memory: MemoryLimits
  readonly deviceLinks: DeviceLinks
  readonly declarations: DeclarationRate
  readonly counts: { hellos: number }
  /** Refuses a frame for its content. */
  readonly refuse: (link: Link, problem: Problem, about: FrameAbout) => void
  /** The device may receive messages from now on. `firmwares`: those in its HELLO. */
  readonly welcomed: (linked: LinkedDevice, firmwares: readonly Firmware[]) => void
  /** A device was not admitted. For the log. */
  readonly admissionRefused: (tenant: string, problem: Problem) => void
}

/** The weight in the queue of commits, for a device that is connected without a HELLO. */
const restoredBytes = 256

type DeviceName = { readonly deviceIdentifier: string }

/**
 * Connects devices on HELLO: creates the device if necessary, takes it over from another link, and sends WELCOME.
 * Contract 7.
 */
export class HelloHandler {
  readonly #options: HelloHandlerOptions

  constructor(options: HelloHandlerOptions) {
    this.#options = options
  }

  /**
   * Checks one service per step, because a whole HELLO may take too long. `bytes`: the weight of the HELLO in the queue
   * of commits.
   */
  *take(link: Link, hello: HelloHead, bytes: number): Generator<undefined, void> {
    const about = { deviceIdentifier: hello.deviceIdentifier }
    if (!this.#mayTake(link, about)) return
    const services: DeclaredService[] = []
    for (const service of hello.services) {
      const declared = this.#declared(service, services)
      if (declared instanceof Problem) {
        this.#options.refuse(link, declared, about)
        return
      }
      services.push(declared)
      yield
    }
    if (link.isAccepting && this.#mayTake(link, about)) this.#take(link, hello, services, bytes)
  }

  /**
   * Connects a device as after its last HELLO, because the client continues an MQTT session: it may send reports before
   * its next HELLO. `services` are in the order of the last HELLO. Does nothing if the device is not permitted, does
   * not exist, or does not have these services any more.
   */
  restore(link: Link, device: string, services: readonly string[]): void {
    const { port } = this.#options
    if (!port.isOpen || port.whyNotPermitted(link.opening, device)) return
    const awake = port.wake(link.opening.tenant, device)
    const state = awake.state as DeviceState
    const shapes = services.flatMap((service) => serviceOf(state, service)?.shape ?? [])
    if (!state.exists || shapes.length < services.length) {
      port.releaseIfEmpty(awake)
      return
    }
    const hello = { deviceIdentifier: device, session: state.session, services: [] }
    const declared = shapes.map((shape) => ({ shape, items: [] }))
    this.#take(link, { ...hello, type: 'HELLO', autoUpdate: state.isAutoUpdated }, declared, restoredBytes)
  }

  /**
   * Connects a device whose protocol has no HELLO, with the services that it has. Creates the device if necessary. A
   * refusal is sent as after HELLO.
   */
  connect(link: Link, device: string): void {
    const { port } = this.#options
    if (!this.#mayTake(link, { deviceIdentifier: device })) return
    const awake = port.wake(link.opening.tenant, device)
    const state = awake.state as DeviceState
    const declared = state.services.map(({ shape }) => ({ shape, items: [] }))
    const session = state.exists ? { session: state.session } : {}
    const hello = { deviceIdentifier: device, ...session, services: [] }
    this.#take(link, { ...hello, type: 'HELLO', autoUpdate: state.isAutoUpdated }, declared, restoredBytes)
  }

  /** Returns false if the HELLO was refused. */
  #mayTake(link: Link, about: DeviceName): boolean {
    const { port, refuse } = this.#options
    if (!port.isOpen) {
      link.refuse(new Problem('storage'))
      return false
    }
    const notAllowed = port.whyNotPermitted(link.opening, about.deviceIdentifier)
    if (notAllowed) refuse(link, notAllowed, about)
    return notAllowed === undefined
  }

  /** `before` are the preceding services. */
  #declared(service: unknown, before: readonly DeclaredService[]): DeclaredService | Problem {
    const path = `services.${before.length}`
    const read = readService(service, path)
    if (read instanceof Problem) return read
    const { serviceIdentifier } = read
    if (before.some(({ shape }) => shape.serviceIdentifier === serviceIdentifier)) {
      return new Problem('bad_request', `${path}.serviceIdentifier: is given twice`)
    }
    try {
      return declaredService(read, before.length, this.#options.intern)
    } catch (error) {
      if (error instanceof Problem) return error
      throw error
    }
  }

  #take(link: Link, message: HelloHead, services: readonly DeclaredService[], bytes: number): void {
    const { port, world, memory, deviceLinks, declarations, counts } = this.#options
    counts.hellos++
    const { tenant } = link.opening
    const { deviceIdentifier: device } = message
    const about = { deviceIdentifier: device }
    // A refused HELLO changes nothing, so this check comes before the device is created or taken over.
    const awake = port.wake(tenant, device)
    const fault = memoryProblem(awake.state as DeviceState, services, [], tenant, memory)
    if (fault) {
      port.releaseIfEmpty(awake)
      port.inOrder(() => link.refuse(fault, about, false, false))
      return
    }
    const before = deviceLinks.get(tenant, device)
    if (before && before.link !== link && deviceLinks.isFlapping(tenant, device)) {
      const reason = `${device} changed connections more than ${takeOversMax} times in a minute`
      port.inOrder(() => link.error('FLAPPING', reason, about))
      return
    }
    if (!declarations.take(tenant, device, newShapeCount(awake.state as DeviceState, services))) {
      port.releaseIfEmpty(awake)
      port.inOrder(() => link.error('FLAPPING', tooManyShapes(device), about))
      return
    }
    const admission = port.admit(link.opening, device, {
      refusing: () => link.stopAccepting(),
      refused: (problem) => this.#refuseAdmission(link, problem, about),
    })
    if (!admission) return
    const { activation, secret } = admission
    const linked = new LinkedDevice({
      link,
      device,
      session: message.session ?? namelessSession(world),
      services: link.sharedShapes(services.map(({ shape }) => shape)),
      activation,
    })
    this.#own(tenant, linked, before)
    const { firmwares } = message
    const hello: Hello = {
      type: 'hello',
      session: linked.session,
      services,
      project: message.project,
      firmwares,
      isAutoUpdated: message.autoUpdate,
      isConnect: before?.link !== link,
    }
    const responder: Responder = {
      answered: (welcome) => {
        this.#welcome(linked, welcome as Welcome, secret)
        this.#options.welcomed(linked, firmwares ?? [])
      },
      refusing: () => link.stopAccepting(),
      refused: (problem) => link.refuse(problem, { ...about, flakeAddress: linked.flakeAddress }),
    }
    port.hello(activation, hello, responder, bytes)
  }

  /** A forbidden HELLO is a mistake of the link. Any other reason may be temporary, so the device may try again. */
  #refuseAdmission(link: Link, problem: Problem, about: FrameAbout): void {
    this.#options.admissionRefused(link.opening.tenant, problem)
    link.refuse(problem.code === 'forbidden' ? problem : new Problem('overloaded'), about)
  }

  #own(tenant: string, linked: LinkedDevice, before: LinkedDevice | undefined): void {
    const { port, deviceLinks } = this.#options
    deviceLinks.set(tenant, linked)
    if (before) {
      before.link.devices.delete(before.flakeAddress)
      // The device was removed and created again: late frames may still contain the old address.
      if (before.flakeAddress !== linked.flakeAddress) before.link.removed.add(before.flakeAddress)
      if (before.link !== linked.link) {
        before.link.replaced.add(before.flakeAddress)
        const { flakeAddress } = before
        port.inOrder(() =>
          before.link.error('REPLACED', `${linked.device} is on another connection now`, { flakeAddress }),
        )
      }
    }
    linked.link.replaced.delete(linked.flakeAddress)
    linked.link.devices.set(linked.flakeAddress, linked)
  }

  #welcome(linked: LinkedDevice, { flakeAddress, seq }: Welcome, secret: string | undefined): void {
    linked.link.accepted()
    linked.link.send({
      type: 'WELCOME',
      flakeAddress,
      deviceIdentifier: linked.device,
      seq,
      window: linkWindowMessages,
      timestamp: this.#options.world.now(),
      ...(secret !== undefined && { secret }),
    })
    linked.isWelcomed = true
  }
}

/** A session for a HELLO that names no session. It is longer than any session that a device may choose. Contract 7. */
function namelessSession(world: World): string {
  return `nameless:${Buffer.from(world.random(16)).toString('hex')}`
}
