import { MailChecker } from '#test/simulation/mail-checker'
import type { Stage } from '#test/simulation/participant'
import { SimulatedActions } from '#test/simulation/simulated-actions'
import { SimulatedAlarms } from '#test/simulation/simulated-alarms'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import { SimulatedFunctions } from '#test/simulation/simulated-functions'
import type { SimulatedMailServer } from '#test/simulation/simulated-mail'
import { SimulatedPeople } from '#test/simulation/simulated-people'
import type { Person } from '#test/simulation/simulated-person'
import type { SimulatedReceivers } from '#test/simulation/simulated-receivers'
import { SimulatedRequests } from '#test/simulation/simulated-requests'
import { SimulatedSchema } from '#test/simulation/simulated-schema'
import type { SimulatedLimits, SimulatedServer } from '#test/simulation/simulated-server'
import { SimulatedSessions } from '#test/simulation/simulated-sessions'
import { SimulatedSubscribers } from '#test/simulation/simulated-subscribers'
import { SimulatedUpdates } from '#test/simulation/simulated-updates'
import { SimulatedWrites } from '#test/simulation/simulated-writes'
import { WebhookChecker } from '#test/simulation/webhook-checker'

/** The earliest moments at which an event may have been published, and at which it may have been received. */
interface ReceivedSince {
  readonly publishedAt: number
  readonly from: number
}

/** All users of the server, and the devices in their requests. */
export class Participants {
  readonly people: SimulatedPeople
  readonly sessions: SimulatedSessions
  readonly schema: SimulatedSchema
  readonly requests: SimulatedRequests
  readonly writes: SimulatedWrites
  readonly alarms: SimulatedAlarms
  readonly actions: SimulatedActions
  readonly updates: SimulatedUpdates
  readonly functions: SimulatedFunctions
  readonly subscribers: SimulatedSubscribers

  readonly mails: MailChecker
  readonly mailServer: SimulatedMailServer
  readonly webhooks: WebhookChecker
  readonly receivers: SimulatedReceivers

  constructor(stage: Stage, devices: readonly SimulatedDevice[], mails: SimulatedLimits['mails']) {
    const { server, witness } = stage
    const names = devices.map(({ name }) => name)
    const people = new SimulatedPeople(stage, names)
    const schema = new SimulatedSchema(stage, undefined)
    const requests = new SimulatedRequests(stage, { sessionBy: (authorization) => people.sessionBy(authorization) })
    const alarms = new SimulatedAlarms(stage, { requests, people, schema, devices: names })
    const many = { requests, people, schema, alarms, devices }
    const hasStatusMails = mails.perHourMax > 100
    const functions = new SimulatedFunctions(stage, { requests, people, alarms, devices: names, hasStatusMails })
    const subscribers = new SimulatedSubscribers(stage, { requests, people, alarms, functions })
    this.sessions = new SimulatedSessions(stage, { people })
    this.writes = new SimulatedWrites(stage, many)
    this.actions = new SimulatedActions(stage, many)
    this.updates = new SimulatedUpdates(stage, many)
    this.people = people
    this.schema = schema
    this.requests = requests
    this.alarms = alarms
    this.functions = functions
    this.subscribers = subscribers
    this.mails = new MailChecker(witness, { people, alarms, functions, subscribers }, mails.perHourMax, server.now)
    this.mailServer = mails.server
    this.mailServer.watcher = this.mails
    this.webhooks = new WebhookChecker(witness, { people, functions })
    this.receivers = mails.receivers
    this.receivers.watcher = this.webhooks
    for (const device of devices) {
      device.onWrite = (updates) => {
        this.writes.writeReceived(updates)
        this.actions.writeReceived(device, updates)
      }
    }
  }

  moveTo(server: SimulatedServer): void {
    const { people, sessions, schema, requests, writes, alarms, actions, updates, functions, subscribers } = this
    const parts = [people, sessions, schema, requests, writes, alarms, actions, updates, functions, subscribers]
    for (const part of parts) part.moveTo(server)
  }

  /** Call before the first step. */
  async begin(): Promise<void> {
    await this.people.begin()
    await this.functions.begin()
    await this.subscribers.begin()
  }

  /** Checks an event that a user with this account received, if its type needs more than read on its resource. */
  checkReceived(person: Person, account: string, event: Readonly<Record<string, unknown>>, since: ReceivedSince): void {
    const type = String(event.type)
    if (type === 'ALARM_CONFIG_UPDATE') this.alarms.checkReceived(person, event, since.publishedAt, since.from)
    if (type.startsWith('NOTIFICATION_')) this.subscribers.checkReceived(person, account, event)
  }

  /** Reads the final state of users, schema, alarms and functions. For a server at rest. */
  async settle(): Promise<void> {
    await Promise.all([this.people.settle(), this.schema.settle(), this.alarms.settle(), this.functions.settle()])
  }
}
