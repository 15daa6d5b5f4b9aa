import type { RuleNotices } from '#actors/notice-bus'

/** Records notices about alarms and functions as lines, in their order. */
export class RecordingRules implements RuleNotices {
  readonly said: string[] = []

  /** The lines since the last call. */
  get heard(): string[] {
    return this.said.splice(0)
  }

  alarmChanged: RuleNotices['alarmChanged'] = (tenant, id, stored) => {
    this.said.push(`alarm ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  groupChanged: RuleNotices['groupChanged'] = (tenant, id, stored) => {
    this.said.push(`group ${tenant}/${id} ${stored ? stored.devices.join() : 'gone'}`)
  }

  functionChanged: RuleNotices['functionChanged'] = (tenant, id, stored) => {
    this.said.push(`function ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  templateChanged: RuleNotices['templateChanged'] = (tenant, name, stored) => {
    this.said.push(`template ${tenant}/${name} ${stored ? Object.keys(stored.locales).join() : 'gone'}`)
  }

  schemaChanged: RuleNotices['schemaChanged'] = (tenant, service, schema) => {
    this.said.push(`schema ${tenant}/${service} ${schema ? schema.name : 'gone'}`)
  }
}
