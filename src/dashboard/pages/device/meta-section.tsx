import { useState } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Facts, Section } from '#dashboard/components/page'
import { notify } from '#dashboard/components/toasts'
import { isObject, readJson } from '#dashboard/conditions/json-text'
import { containsNull, mergePatchOf } from '#dashboard/pages/device/merge-patch'
import { client, mayUser } from '#dashboard/session'
import type { JsonObject } from '#model/json-value'

interface MetaSectionProps {
  readonly identifier: string
  readonly meta: DeviceView['meta']
}

/** Metadata of the device; edited as a whole, sent as a patch. §2.5 */
export function MetaSection({ identifier, meta }: MetaSectionProps) {
  const entries = Object.entries(meta)
  return (
    <Section
      title="Metadata"
      actions={
        mayUser('meta', 'update', { deviceIdentifier: identifier }) && (
          <DialogButton button="Change…" title={`Metadata of ${identifier}`}>
            <MetaForm identifier={identifier} meta={meta} />
          </DialogButton>
        )
      }
    >
      {entries.length === 0 ? (
        <p class="soft">No metadata, such as location or owner.</p>
      ) : (
        <Facts facts={Object.fromEntries(entries.map(([key, value]) => [key, metaText(value)]))} />
      )}
    </Section>
  )
}

/** `a, b` for a list, and `lat: 47.4, lon: 8.5` for an object. */
function metaText(value: unknown): string {
  if (Array.isArray(value)) return value.map(metaText).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([key, each]) => `${key}: ${metaText(each)}`)
    .join(', ')
}

function MetaForm({ identifier, meta }: MetaSectionProps) {
  // The patch is made from the metadata at the time the form was opened, so that changes by other users stay.
  const [before] = useState(meta as JsonObject)
  const [text, setText] = useState(() => JSON.stringify(meta, null, 2))
  const [fault, setFault] = useState<string>()
  const save = async () => {
    const after = parseMetadata(text)
    if (typeof after === 'string') {
      setFault(after)
      return false
    }
    const body = mergePatchOf(before, after) as Record<string, never> | undefined
    if (body) {
      await client.call('PATCH /meta/:deviceIdentifier', { parameters: { deviceIdentifier: identifier }, body })
      notify(`The metadata of ${identifier} is saved`)
    }
    return true
  }
  return (
    <Form submit="Save" onSubmit={save} isUnsaved="touched">
      <TextField
        label="Metadata as JSON"
        hint='For example {"location": "Hall 3", "owner": "Ann"}'
        value={text}
        onChange={(next) => {
          setText(next)
          setFault(undefined)
        }}
        problem={fault}
        rows={12}
        isCode
        hasFocus
      />
    </Form>
  )
}

function parseMetadata(text: string): JsonObject | string {
  const read = readJson(text.trim() || '{}')
  if ('fault' in read) return read.fault
  if (!isObject(read.value)) return 'Must be an object: { … }.'
  return containsNull(read.value) ? 'null cannot be stored: remove the key.' : read.value
}
