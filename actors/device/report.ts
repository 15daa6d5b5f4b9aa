import type { DeclaredService, Post, PostedUpdate, Report } from '#actors/device/commands'
import { declare } from '#actors/device/declaration'
import { type MemoryLimits, memoryProblem } from '#actors/device/memory'
import { type DeviceRules, evaluateReport, withEvaluation } from '#actors/device/report-evaluation'
import { absentDevice, type DeviceState, serviceOf } from '#actors/device/state'
import { markOnline } from '#actors/device/status'
import type { Entry, PropertyState, Reported } from '#model/entry'
import { Problem } from '#model/problem'
import type { Shape, ShapeProperty } from '#model/shape'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Device times are accepted up to this far in the future. Contract 4.6. */
export const aheadMsMax = 24 * 60 * 60_000

/**
 * Handles reported values. Hot path: the link has validated the values against `shape`, so this function only checks
 * that the device still declares the shape and that the report is not a repetition. Contract 7, numbering.
 */
export function decideReport(state: DeviceState, report: Report, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const { shape, session } = report
  const isSameSession = session === state.session
  const seq = report.seq || (isSameSession ? state.seq + 1 : 1)
  if (isSameSession && seq <= state.seq) return answer(state.seq)
  const service = serviceOf(state, shape.serviceIdentifier)
  if (service?.shape.id !== shape.id) return refuse(new Problem('service_unknown'))
  const plain = reportedEntry(state, shape, turn.now, report.timestamp, seq, report.items)
  const entry = isSameSession ? plain : { ...plain, session }
  const evaluation = evaluateReport(state, service, entry, rules, turn)
  if (evaluation === undefined) return { type: 'record', events: [entry], answer: seq }
  const { waiting } = evaluation
  const withWaits = waiting.length === 0 ? entry : { ...entry, alarms: waiting }
  const where = { tenant: turn.tenant, device: state.device }
  return withEvaluation(record([withWaits], { answer: seq }), { ...evaluation, waiting: [] }, where, rules)
}

/** Contract 7, POST /link: answered when everything is stored; one invalid update refuses all. */
export function decidePost(state: DeviceState, post: Post, turn: Turn, startedAt: number): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const { now } = turn
  const online = markOnline(state, now, startedAt, false)
  // A repeated POST may only change the status of the device, its times and its count of connects.
  if (isRepeated(state, post)) return record(online.entries, online)
  const declaration = declare(state, post.services ?? declaredNow(state), now)
  const reports = reportsOf(state, post, now)
  if (reports instanceof Problem) return refuse(reports)
  return record([...declaration.entries, ...reports, ...online.entries], {
    changes: [...declaration.changes, ...online.changes],
    shared: declaration.shared,
    isCheckpointed: declaration.changes.length > 0,
    indexes: [...declaration.indexes, ...online.indexes],
  })
}

export function isRepeated(state: DeviceState, { session, seq }: Post): boolean {
  return session !== undefined && session === state.session && seq !== undefined && seq <= state.seq
}

function declaredNow(state: DeviceState): DeclaredService[] {
  return state.services.map(({ shape }) => ({ shape, items: [] }))
}

/** The error of a POST by a device that is not registered. If there is one, the device is not created. */
export function faultOfFirstPost(
  device: string,
  post: Post,
  tenant: string,
  limits: MemoryLimits,
): Problem | undefined {
  const state = absentDevice(device)
  const services = post.services ?? []
  const reports = reportsOf(state, { ...post, services }, 0)
  return reports instanceof Problem ? reports : memoryProblem(state, services, reports, tenant, limits)
}

/** One entry for consecutive updates of the same service and time. */
function reportsOf(state: DeviceState, post: Post, now: number): Reported[] | Problem {
  const reports: Reported[] = []
  // A seq without a session is ignored: 0 leaves the numbering of the device's current session unchanged.
  const seq = post.session === undefined ? 0 : (post.seq ?? 0)
  let run: { shape: Shape; timestamp: number | undefined; items: (number | PropertyState)[] } | undefined
  for (const [place, update] of post.updates.entries()) {
    const shape = shapeFor(state, post.services, update.serviceIdentifier)
    const index = shape?.indexOf.get(update.propId)
    if (!shape || index === undefined) return unknownUpdate(place, update, shape)
    const property = shape.properties[index] as ShapeProperty
    const value = update.error === undefined ? property.type.accept(update.value) : { error: update.error }
    if (value === undefined) return badUpdate(place, property)
    if (!run || run.shape !== shape || run.timestamp !== update.timestamp) {
      run = { shape, timestamp: update.timestamp, items: [] }
      reports.push(reportedEntry(state, shape, now, update.timestamp, seq, run.items))
    }
    run.items.push(index, value)
  }
  const [first, ...others] = reports
  if (!first || post.session === undefined || post.session === state.session) return reports
  return [{ ...first, session: post.session }, ...others]
}

function reportedEntry(
  { device, flakeAddress }: DeviceState,
  shape: Shape,
  now: number,
  timestamp: number | undefined,
  seq: number,
  items: Reported['items'],
): Reported {
  const isAccepted = timestamp !== undefined && timestamp <= now + aheadMsMax
  return { kind: 'reported', device, flakeAddress, shape, at: now, timestamp: isAccepted ? timestamp : now, seq, items }
}

function shapeFor(
  state: DeviceState,
  declared: readonly DeclaredService[] | undefined,
  serviceIdentifier: string,
): Shape | undefined {
  const { shape } = declared
    ? (declared.find((service) => service.shape.serviceIdentifier === serviceIdentifier) ?? {})
    : (serviceOf(state, serviceIdentifier) ?? {})
  return shape
}

function unknownUpdate(place: number, update: PostedUpdate, shape: Shape | undefined): Problem {
  const detail = shape
    ? { path: `updates.${place}.propId`, message: `${update.propId} is not a declared property of the service` }
    : { path: `updates.${place}.serviceIdentifier`, message: 'is not a declared service of the device' }
  return new Problem('invalid', undefined, { details: [detail] })
}

function badUpdate(place: number, property: ShapeProperty): Problem {
  const detail = { path: `updates.${place}.value`, message: `must be ${property.type.text}` }
  return new Problem('invalid', undefined, { details: [detail] })
}
