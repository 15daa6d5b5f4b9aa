import { serviceIndex } from '#actors/device/declaration'
import { deviceAddress } from '#actors/device/device'
import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/devices'
import { type ListQuery, nameOfCursor, type StateQuery } from '#api/fields'
import { quote } from '#events/object-updated'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { readableService } from '#routes/devices'
import { etagOf, notModified, pageOf, partsReply, streamHeaders, streamObjects } from '#routes/replies'
import { formOf, fullDepth, type StateForm, StateText, type TextOrParts } from '#routes/state-text'
import { checkCurrent } from '#runtime/slices'
import type { Pages } from '#runtime/storage'

/** Routes for services: the same state as for devices, grouped by service. */
export function serviceRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.listServices, (call) => list(context, call)),
    bind(api.readService, (call) => {
      const { serviceIdentifier } = call.parameters
      const form = formOf(call.query, fullDepth)
      const { before, after } = serviceFrame(serviceIdentifier, form)
      return devicesOf(context, call, serviceIdentifier, form, before, after)
    }),
    bind(api.listServiceDevices, (call) =>
      devicesOf(context, call, call.parameters.serviceIdentifier, formOf(call.query, fullDepth), '[', ']'),
    ),
    bind(api.readServiceDevice, (call) => {
      const { service, text } = readableService(context, call, call.parameters, call.query)
      return partsReply(context, call, text.deviceOfService(call.parameters.deviceIdentifier, service))
    }),
    bind(api.readServiceProperties, (call) => {
      const { service, text } = readableService(context, call, call.parameters, call.query)
      return partsReply(context, call, text.properties(service))
    }),
  ]
}

async function list(context: RouteContext, call: Call<unknown, ListQuery>): Promise<Reply> {
  const unchanged = notModified(context, call)
  if (unchanged) return unchanged
  const { caller, query } = call
  const headers = { ...streamHeaders(context, caller.tenant), ETag: etagOf(context, call) }
  const form = formOf(query, 0)
  const shown = new ShownServices(context, call, query)
  const page = await pageOf(context, call, shown.services(nameOfCursor(query.cursor)), () => true)
  const chunks = listed(context, call, form, shown, page.names)
  return { status: 200, headers: { ...headers, ...page.headers }, chunks }
}

/** Yields the text of the services in order, each with its devices. */
async function* listed(
  context: RouteContext,
  call: Call,
  form: StateForm,
  shown: ShownServices,
  services: Pages,
): AsyncGenerator<string> {
  let before = '['
  try {
    for (let page = await services.next(16); page.length > 0; page = await services.next(16)) {
      checkCurrent(call.caller)
      for (const service of page) {
        const frame = serviceFrame(service, form)
        if (form.depth < 1) yield before + frame.before
        else {
          yield before
          yield* streamObjects(
            context,
            call.caller,
            shown.devices(service),
            frame,
            textOfDevice(context, call, form, service),
          )
        }
        before = ','
      }
    }
    await context.system.gate.whenStored()
    checkCurrent(call.caller)
    yield before === '[' ? '[]' : ']'
  } finally {
    await services.close()
  }
}

/** The devices of one service, as an object or an array; 404 if the caller may read none. */
function devicesOf(
  context: RouteContext,
  call: Call<unknown, StateQuery>,
  service: string,
  form: StateForm,
  before: string,
  after: string,
): Reply {
  const names = new ShownServices(context, call, {}).devices(service)
  const errorIfEmpty = () => new Problem('not_found')
  const chunks = streamObjects(
    context,
    call.caller,
    names,
    { before, after, errorIfEmpty },
    textOfDevice(context, call, form, service),
  )
  if (form.depth >= 1 || before === '[') return { status: 200, chunks }
  // The answer has no devices; they are only read to answer 404 if the caller may read none.
  return { status: 200, chunks: emptied(chunks, before) }
}

async function* emptied(chunks: AsyncGenerator<string>, text: string): AsyncGenerator<string> {
  for await (const _ of chunks) break
  yield text
}

function serviceFrame(service: string, form: StateForm) {
  const identifier = `{"serviceIdentifier":${quote(service)}`
  return form.depth < 1 ? { before: `${identifier}}`, after: '' } : { before: `${identifier},"devices":[`, after: ']}' }
}

function textOfDevice(context: RouteContext, { caller }: Call, form: StateForm, service: string) {
  const text = new StateText(caller, context.system.wake(tenantAddress(caller.tenant)), form)
  return (device: string): TextOrParts | undefined => {
    if (!text.mayRead(device, service)) return undefined
    const state = context.system.peek(deviceAddress(caller.tenant, device))
    const found = state && serviceOf(state, service)
    return found && text.deviceOfService(device, found)
  }
}

const entriesAtATime = 256

/** The services, and their devices, that the caller may see and has requested. */
class ShownServices {
  readonly #context: RouteContext
  readonly #call: Call
  readonly #requested: ReadonlySet<string> | undefined
  readonly #text: StateText

  constructor(context: RouteContext, call: Call, query: Pick<ListQuery, 'deviceIdentifier'>) {
    this.#context = context
    this.#call = call
    this.#requested = query.deviceIdentifier && new Set(query.deviceIdentifier)
    this.#text = new StateText(call.caller, context.system.wake(tenantAddress(call.caller.tenant)), formOf({}, 0))
  }

  /** The identifiers of services with at least one visible device. */
  services(after: string): Pages {
    const { listing } = this.#context
    const { tenant } = this.#call.caller
    let entries = listing.entries(serviceIndex, tenant, '', after === '' ? '' : afterService(after))
    const next = async (): Promise<string | undefined> => {
      for (;;) {
        const page = await entries.next(entriesAtATime)
        if (page.length === 0) return undefined
        const entry = page.find((name) => this.#isShown(name))
        if (entry === undefined) continue
        const [service] = parted(entry)
        // Skips to the next service, even if this one has many devices.
        await entries.close()
        entries = listing.entries(serviceIndex, tenant, '', afterService(service))
        return service
      }
    }
    return {
      async next(countMax) {
        const found: string[] = []
        while (found.length < countMax) {
          const service = await next()
          if (service === undefined) break
          found.push(service)
        }
        return found
      },
      close: () => entries.close(),
    }
  }

  /** The identifiers of the requested devices of one service, also of those that the caller may not read. */
  devices(service: string): Pages {
    const { listing } = this.#context
    const entries = listing.entries(serviceIndex, this.#call.caller.tenant, `${service}/`)
    return {
      next: async (countMax) => {
        // An empty page would mean the end, so pages without a requested device are skipped.
        for (;;) {
          const page = await entries.next(countMax)
          const devices = page.map((entry) => parted(entry)[1]).filter((device) => this.#requested?.has(device) ?? true)
          if (devices.length > 0 || page.length === 0) return devices
        }
      },
      close: () => entries.close(),
    }
  }

  #isShown(entry: string): boolean {
    const [service, device] = parted(entry)
    return (this.#requested?.has(device) ?? true) && this.#text.mayRead(device, service)
  }
}

/** A text that sorts after all entries of a service: no device name starts with U+FFFF. */
function afterService(service: string): string {
  return `${service}/\uffff`
}

function parted(entry: string): [service: string, device: string] {
  const at = entry.indexOf('/')
  return [entry.slice(0, at), entry.slice(at + 1)]
}
