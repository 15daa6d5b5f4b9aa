import { noticeBus } from '#actors/notice-bus'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import type { AlarmBody } from '#model/alarm'
import type { Entry } from '#model/entry'
import type { FunctionBody } from '#model/function'
import type { TemplateBody } from '#model/template'
import type { Decision } from '#runtime/actor'
import { ActingActor } from '#test/actors/acting-actor'
import { RecordingNotices, RecordingRules } from '#test/actors/recording-notices'

export const ann = 'crn#user:2Vb7qYx9Kd'
export const ben = 'crn#user:3Nc7xJr4Vq'

export const hotAlarm: AlarmBody = {
  name: 'Hot',
  severity: 'warning',
  serviceIdentifier: 'svc',
  condition: { '>': [{ var: 'temperature' }, 30] },
}

/** A function that sends a mail at each change of one property. */
export const mailFunction: FunctionBody = {
  ...{ name: 'Told', enabled: true, binding: {} },
  graph: {
    nodes: [
      { id: 'when', type: 'trigger', on: 'property', serviceIdentifier: 'svc', propId: 1 },
      { id: 'mail', type: 'email', template: 'words' },
    ],
    edges: [['when', 'mail']],
  },
}

export const mailTemplate: TemplateBody = { locales: { en: { subject: 'It is {{value}}', text: 'Now.' } } }

/** The actor of tenant `t`, without a runtime. */
export class ActingTenant extends ActingActor<TenantState, TenantCommand> {
  readonly rules = new RecordingRules()
  readonly notices = new RecordingNotices()
  readonly endedTopics: string[] = []

  constructor() {
    const bus = noticeBus()
    super(tenantActor(bus), { tenant: 't', id: 't' })
    bus.listen(this.rules)
    bus.listen(this.notices)
    bus.listen({ topicEnded: (tenant, fn) => void this.endedTopics.push(`${tenant}/${fn}`) })
  }

  makeGroup(id: string, devices: readonly string[], name = 'Hall'): Decision<Entry> {
    return this.act({ type: 'put_group', id, isNew: true, body: { name, devices }, author: ann })
  }

  editGroup(id: string, devices: readonly string[], name = 'Hall', author = ann): Decision<Entry> {
    return this.act({ type: 'put_group', id, isNew: false, body: { name, devices }, author })
  }

  makeAlarm(id: string, more: Partial<AlarmBody> = {}, author = ann): Decision<Entry> {
    return this.act({ type: 'put_alarm', id, isNew: true, body: { ...hotAlarm, ...more }, author })
  }

  putAlarm(id: string, more: Partial<AlarmBody> = {}, author = ann): Decision<Entry> {
    return this.act({ type: 'put_alarm', id, isNew: false, body: { ...hotAlarm, ...more }, author })
  }

  makeFunction(id: string, more: Partial<FunctionBody> = {}, author = ann): Decision<Entry> {
    return this.act({ type: 'put_function', id, isNew: true, body: { ...mailFunction, ...more }, author })
  }

  putFunction(id: string, more: Partial<FunctionBody> = {}, author = ann): Decision<Entry> {
    return this.act({ type: 'put_function', id, isNew: false, body: { ...mailFunction, ...more }, author })
  }

  putTemplate(name: string, body = mailTemplate, author = ann): Decision<Entry> {
    return this.act({ type: 'put_template', name, body, author })
  }

  evaluated(alarm: string) {
    return this.state.evaluated.get(alarm)
  }
}
