import { tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { Sample, TriedFunction, TriedMail } from '#api/functions'
import type { Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { type DeliveryCause, storedValue } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { EmailNode, Graph, TriggerNode, WebhookNode } from '#model/graph'
import type { JsonObject } from '#model/json-value'
import { renderMail } from '#model/mail-text'
import { OutputTooLarge } from '#model/mustache'
import { Problem } from '#model/problem'
import { servicesWithin } from '#model/scope'
import { utf8BytesOf } from '#model/text'
import { dataOf, type RunContext } from '#notifications/mail-data'
import { isVisible, membersIn } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { textReply } from '#routes/replies'
import { FunctionGraph, type RunInput, type TriggerValue } from '#rules/function-graph'
import { ruleBudget, turnUnitsMax } from '#rules/rule-budget'
import { ReadSlices } from '#runtime/slices'

/** Limit for the mails in one answer, as JSON; mails above it are left out. */
const mailsBytesMax = 786_432

/** The device of a sample that names none. */
const sampleDevice = 'TEST'

interface FunctionWithId {
  readonly id: string
  readonly stored: StoredFunction
}

/**
 * Simulates a function with a sample. It uses only the sample's data and ignores throttles: no device is read, and
 * nothing is counted, stored or sent. Contract 5.4.
 *
 * @throws Problem `invalid` for a node that is no trigger
 */
export async function tryFunction(
  context: RouteContext,
  caller: Caller,
  { id, stored }: FunctionWithId,
  sample: Sample,
): Promise<Reply> {
  const triggers = triggersOf(stored.graph, sample)
  const trial = trialOf(new FunctionGraph(id, stored.graph), sample, context.world.now())
  const slices = new ReadSlices(context.world, caller)
  await slices.next()
  for (const { place, node } of triggers) {
    trial.run(place, node)
    if (slices.isOver) await slices.next()
  }
  const tenant = context.system.wake(tenantAddress(caller.tenant))
  const mails: TriedMail[] = []
  let bytesLeft = mailsBytesMax
  for (const requested of trial.requested.values()) {
    const mail = bytesLeft > 0 ? triedMail(tenant, caller, stored, sample, requested) : undefined
    bytesLeft -= mail ? utf8BytesOf(JSON.stringify(mail)) : 0
    mails.push(mail && bytesLeft > 0 ? mail : leftOut(requested.node))
    if (slices.isOver) await slices.next()
  }
  const tried: TriedFunction = { path: [...trial.path], stopped: [...trial.stopped.values()], mails }
  return textReply(context, JSON.stringify(tried))
}

interface PlacedTrigger {
  readonly place: number
  readonly node: TriggerNode
}

/** The requested trigger, or all. */
function triggersOf({ nodes }: Graph, { trigger: requested }: Sample): readonly PlacedTrigger[] {
  const all = nodes.flatMap((node, place) => (node.type === 'trigger' ? [{ place, node }] : []))
  if (requested === undefined) return all
  const found = all.filter(({ node }) => node.id === requested)
  if (found.length > 0) return found
  const details = [{ path: 'sample.trigger', message: `node "${requested}" must be a trigger` }]
  throw new Problem('invalid', undefined, { details })
}

/** A mail of a run: its node and its data. */
interface MailRequest {
  readonly node: EmailNode
  readonly run: Parameters<typeof dataOf>[0]
}

/** The runs of one sample. Results that several runs share appear once. */
function trialOf(graph: FunctionGraph, sample: Sample, now: number) {
  const { deviceIdentifier: device = sampleDevice, previous = null, meta = {}, time = now } = sample
  const path = new Set<string>()
  const stopped = new Map<string, TriedFunction['stopped'][number]>()
  const requested = new Map<string, MailRequest>()
  const stop = (node: string, because: string) => {
    path.add(node)
    stopped.set(`${node} ${because}`, { node, because })
  }
  const run = (place: number, trigger: TriggerNode) => {
    const value = sample.value === undefined ? waitedFor(trigger) : sample.value
    if (!graph.fits(place, value)) {
      // The answer reports that the requested trigger did not fire.
      if (sample.trigger !== undefined) stop(trigger.id, 'false')
      return
    }
    const input: RunInput = { value, previous, device, time, meta: () => meta as JsonObject, passedAt: () => undefined }
    const values = { value: storedValue(value), previous: storedValue(previous) }
    const made = { device, at: time, ...values, cause: causeOf(trigger) }
    const reached = (node: EmailNode | WebhookNode) => {
      if (node.type === 'email' && !requested.has(node.id)) requested.set(node.id, { node, run: made })
    }
    ruleBudget.begin(turnUnitsMax, 1)
    graph.run(
      place,
      input,
      { stamped() {}, reached, failed() {} },
      { entered: ({ id }) => path.add(id), stopped: ({ id }, because) => stop(id, because) },
    )
    ruleBudget.end()
  }
  return { path, stopped, requested, run }
}

/** The value that fires a trigger; null if any event does. */
function waitedFor(trigger: TriggerNode): TriggerValue {
  const { to } = trigger
  if (to === undefined) return null
  return trigger.on === 'alarm' ? to === 'active' : to
}

function causeOf(trigger: TriggerNode): DeliveryCause {
  switch (trigger.on) {
    case 'property':
      return { on: 'property', service: trigger.serviceIdentifier, propId: trigger.propId }
    case 'alarm':
      return { on: 'alarm', alarm: trigger.alarmId }
    case 'status':
      return { on: 'status' }
  }
}

function leftOut({ id: node, template }: EmailNode): TriedMail {
  return { node, template, error: 'left_out' }
}

function triedMail(
  tenant: TenantState,
  caller: Caller,
  { name }: StoredFunction,
  { meta = {}, locale = 'en' }: Sample,
  { node: { id: node, template }, run }: MailRequest,
): TriedMail {
  const stored = tenant.templates.get(template)
  if (!stored) return { node, template, error: 'no_template' }
  const surroundings = { functionName: name, meta: meta as JsonObject, ...namesFor(tenant, caller, run.cause) }
  try {
    return { node, template, ...renderMail(stored, locale, dataOf(run, surroundings)) }
  } catch (error) {
    if (error instanceof OutputTooLarge) return { node, template, error: 'too_large' }
    throw error
  }
}

/** Names for texts, as far as the caller may read them. */
function namesFor(tenant: TenantState, { scope }: Caller, cause: DeliveryCause): Pick<RunContext, 'schema' | 'alarm'> {
  if (cause.on === 'property') {
    const schema = tenant.schemas.get(cause.service)
    return schema && servicesWithin(scope, 'schemas', 'read')(cause.service) ? { schema } : {}
  }
  const alarm = cause.on === 'alarm' ? tenant.alarms.get(cause.alarm) : undefined
  return alarm && isVisible(scope, 'alarms', 'read', alarm, membersIn(tenant)) ? { alarm } : {}
}
