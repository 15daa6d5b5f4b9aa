import * as alarms from '#api/alarms'
import * as audit from '#api/audit'
import * as backup from '#api/backup'
import * as cluster from '#api/cluster'
import * as descriptions from '#api/descriptions'
import * as desired from '#api/desired'
import * as devices from '#api/devices'
import * as events from '#api/events'
import * as functions from '#api/functions'
import * as groups from '#api/groups'
import * as health from '#api/health'
import * as history from '#api/history'
import * as keys from '#api/keys'
import * as link from '#api/link'
import * as meta from '#api/meta'
import * as notifications from '#api/notifications'
import * as roles from '#api/roles'
import type { Method, RouteEntry } from '#api/route-entry'
import * as schemas from '#api/schemas'
import * as secondFactors from '#api/second-factors'
import * as sessions from '#api/sessions'
import * as signIn from '#api/sign-in'
import * as templates from '#api/templates'
import * as tenants from '#api/tenants'
import * as updateProjects from '#api/update-projects'
import * as updates from '#api/updates'
import * as users from '#api/users'
import * as webauthn from '#api/webauthn'
import * as writes from '#api/writes'

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** In the order in which a new reader needs the chapters. */
export const chapters = [
  chapter('State', 'Devices with their services and properties: by device, and by service.', [devices]),
  chapter('History', 'Earlier values of properties: each of them, or aggregated over time.', [history]),
  chapter(
    'Writing',
    'Writes to devices: to one device at once, to many in the background, or when a device connects.',
    [writes, desired],
  ),
  chapter('Schemas', 'The schemas of services: names, units, enumerations, ranges.', [schemas]),
  chapter('Meta', 'Metadata and status of devices.', [meta]),
  chapter('Events', 'The ticket for the event socket, which the AsyncAPI document describes.', [events]),
  chapter('Groups', 'Named lists of devices.', [groups]),
  chapter('Alarms', 'Conditions on properties of devices, and the devices on which they hold.', [alarms]),
  chapter('Functions', 'Functions that run on events of devices, and templates of their mails.', [
    functions,
    templates,
  ]),
  chapter('Notifications', 'Subscriptions of users to the mails of functions.', [notifications]),
  chapter('Firmware', 'Firmware of devices, and its updates.', [updates, updateProjects]),
  chapter('Device link', 'Reports of devices without a websocket; the AsyncAPI document describes the websocket.', [
    link,
  ]),
  chapter('Signing in', 'Tokens by the Basic scheme, and pairs of tokens bound to a key by DPoP.', [signIn]),
  chapter('Sessions', 'Sessions, and the caller of a request.', [sessions]),
  chapter('Second factors', 'One-time codes, recovery codes and WebAuthn.', [secondFactors, webauthn]),
  chapter('Administration', 'Users, roles, tenants, keys, and the audit.', [users, roles, tenants, keys, audit]),
  chapter('Operation', 'Health of the server, these documents, a backup, and the owner of a cluster.', [
    health,
    descriptions,
    backup,
    cluster,
  ]),
]

/** The entries on one topic, sorted by path. The client library takes its types from `modules`. */
function chapter<const Modules extends readonly object[]>(name: string, description: string, modules: Modules) {
  const entries = modules.flatMap((module) => Object.values(module).filter(isEntry))
  return { name, description, modules, entries: entries.sort(byPath) }
}

function isEntry(value: unknown): value is RouteEntry {
  return typeof value === 'object' && value !== null && 'method' in value && 'access' in value && 'example' in value
}

function byPath(one: RouteEntry, other: RouteEntry): number {
  if (one.path !== other.path) return one.path < other.path ? -1 : 1
  return methods.indexOf(one.method) - methods.indexOf(other.method)
}
