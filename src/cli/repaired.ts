import type { Repaired } from '#store/repair/repair'
import { type Loss, offsetIn } from '#store/repair/salvage'

/** Named one by one, so that a table of every kind of record fits; all are among the JSON. */
const namesShown = 40

/** For people: what was mended, what is lost, and what to do now. */
export function repairedText(folder: string, found: Repaired): string {
  const { damage, losses, givenUp, streams, rows, images, keptIn } = found
  const imageLines = images.map(imageLine)
  if (keptIn === undefined) return [`${folder}: the database is whole; nothing was done`, ...imageLines, ''].join('\n')
  const gone = [
    ...streams.flatMap(({ tenant, gaps }) => gaps.map(([from, to]) => `tenant ${tenant}: events ${rangeOf(from, to)}`)),
    ...givenUp.devices.map(({ tenant, device }) => `tenant ${tenant}: the state of device ${device}`),
    ...losses.flatMap(lostLines),
    ...imageLines,
  ]
  return [
    `${folder} holds a database again, of ${rows} rows that were whole. The damaged one is kept in ${keptIn}`,
    '',
    'What was wrong:',
    ...(damage.length > 0 ? damage : ['nothing']).map((line) => `  ${line}`),
    '',
    'What is lost, at most (of some of it an earlier state may be there):',
    ...(gone.length > 0 ? shown(gone) : ['nothing']).map((line) => `  ${line}`),
    '',
    'Every client reads the full state anew, and devices send what they have not seen acknowledged. Look at users, roles and',
    `keys before others do; when all is well, ${keptIn} may be deleted.`,
    '',
  ].join('\n')
}

function imageLine({ sha256, isThere, releases }: Repaired['images'][number]): string {
  const of = releases.length > 0 ? `, of ${releases.map(releaseText).join(' and ')},` : ', which no release names,'
  return `the image ${sha256}${of} is ${isThere ? 'damaged' : 'not there'}${releases.length > 0 ? ': upload it again' : ''}`
}

/** Of `<tenant>/<project>/<index>/<hardware>/<firmware>`. */
function releaseText(name: string): string {
  const [tenant, project, index, hardware, firmware] = name.split('/')
  const kind = `${hardware === '' ? '' : ` for ${hardware}`}${index === '0' ? '' : ` (${index})`}`
  return `release ${firmware}${kind} of project ${project} of tenant ${tenant}`
}

function shown(lines: readonly string[]): readonly string[] {
  const more = lines.length - namesShown
  return more > 0 ? [...lines.slice(0, namesShown), `… and ${more} more: --json names them`] : lines
}

function rangeOf(from: number, to: number): string {
  return from === to ? `${from}` : `${from} to ${to}`
}

function lostLines({ said, from, after, upTo, behind = [] }: Loss): readonly string[] {
  const named = [...new Set(behind.flatMap(({ key }) => nameOf(key) ?? []))].map(
    (name) => `what was stored last of ${name}`,
  )
  if (upTo === undefined) return named.length > 0 ? named : [`nobody can say what: ${said}`]
  return [...named, ...rangeLines(from ?? after ?? '', from === undefined, upTo)]
}

const kinds: Readonly<Record<string, string>> = {
  'actor/device': 'devices',
  'part/device': 'credentials of devices',
  'part/account': 'users',
  'part/directory': 'names of users and tenants',
  'part/session': 'sessions',
  'part/tenant': 'settings of tenants (roles, keys, schemas, groups, alarms, functions, templates)',
  'part/project': 'projects of firmware',
  'part/update': 'updates of firmware',
  'part/subscriber': 'subscriptions and mails',
  'part/delivery': 'mails to be sent',
  'part/outbox': 'counts of mails',
  'part/action': 'actions',
  'part/action_page': 'results of actions',
  'part/signing_keys': 'keys that sign tokens',
  'part/update_schedule': 'the schedule of updates',
  'part/idempotency': 'idempotency keys',
}

const places: Readonly<Record<string, string>> = {
  stream: 'events',
  index: 'index entries',
  reminder: 'reminders',
  redo: 'marks of streams',
  shape: 'declarations of services',
  tell: 'messages between actors',
  epoch: 'epochs',
  whole: 'marks of repairs',
}

/** What a key speaks of; nothing for what names nobody. */
function nameOf(key: string): string | undefined {
  const [place = '', kind = '', tenant = '', id = ''] = key.split('/')
  if (place !== 'actor' && place !== 'part') return undefined
  return kind === 'device'
    ? `device ${id} of tenant ${tenant}`
    : `${kinds[`${place}/${kind}`] ?? kind}: ${id} of tenant ${tenant}`
}

/** What begins with it is of one kind. */
function prefixOf(key: string): string {
  const [place = '', kind = ''] = key.split('/')
  return place === 'actor' || place === 'part' ? `${place}/${kind}` : place
}

function whatOf(prefix: string): string {
  return kinds[prefix] ?? places[prefix] ?? 'other records'
}

/** A line for each kind of record that lies there. `begin` empty: nobody knows where it began; `isBehind`: itself it is there. */
function rangeLines(begin: string, isBehind: boolean, upTo: string): readonly string[] {
  const word = isBehind ? 'behind' : 'from'
  const [first, last] = [prefixOf(begin), prefixOf(upTo)]
  const end = `up to ${restOf(upTo)}`
  if (first === last) return [`${whatOf(last)} ${word} ${restOf(begin)} ${end}`]
  const between = Object.keys({ ...kinds, ...places }).filter((prefix) => prefix > first && prefix < last)
  return [
    ...(begin === '' ? [] : [`${whatOf(first)} ${word} ${restOf(begin)} on`]),
    ...between.sort().map(whatOf),
    `${whatOf(last)} ${end}`,
  ]
}

/** Who or what, and of which tenant; without the rest of a key, which may be a secret's hash. */
function restOf(key: string): string {
  const [, first = '', second = '', third = ''] = key.split('/')
  const offset = offsetIn(key)
  if (offset !== undefined) return `${offset} of tenant ${first}`
  return third === '' ? [first, second].filter((part) => part !== '').join(' ') : `${third} of tenant ${second}`
}
