import type { RuleNotices } from '#actors/notice-bus'
import { RecordedLines } from '#test/actors/recorded-lines'

export class RecordingRules extends RecordedLines implements RuleNotices {
  alarmChanged: RuleNotices['alarmChanged'] = (tenant, id, stored) => {
    this.lines.push(`alarm ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  groupChanged: RuleNotices['groupChanged'] = (tenant, id, stored) => {
    this.lines.push(`group ${tenant}/${id} ${stored ? stored.devices.join() : 'gone'}`)
  }

  functionChanged: RuleNotices['functionChanged'] = (tenant, id, stored) => {
    this.lines.push(`function ${tenant}/${id} ${stored ? `${stored.name} by ${stored.updatedBy}` : 'gone'}`)
  }

  templateChanged: RuleNotices['templateChanged'] = (tenant, name, stored) => {
    this.lines.push(`template ${tenant}/${name} ${stored ? Object.keys(stored.locales).join() : 'gone'}`)
  }

  schemaChanged: RuleNotices['schemaChanged'] = (tenant, service, schema) => {
    this.lines.push(`schema ${tenant}/${service} ${schema ? schema.name : 'gone'}`)
  }
}
