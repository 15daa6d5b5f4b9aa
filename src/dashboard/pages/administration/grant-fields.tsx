import { useState } from 'preact/hooks'
import {
  actionColumns,
  namesIn,
  namesText,
  resourceRows,
  tickedOf,
  toggled,
} from '#dashboard/pages/administration/grants'
import { Button } from '#dashboard/parts/button'
import { Checkbox, Field, TextField } from '#dashboard/parts/fields'
import type { Grant } from '#model/scope'

interface GrantFieldsProps {
  readonly grant: Grant
  /** From 1. */
  readonly number: number
  readonly onChange?: ((grant: Grant) => void) | undefined
  readonly onRemove?: (() => void) | undefined
}

/** One grant: its permissions, and its devices and services. Read-only without `onChange`. */
export function GrantFields({ grant, number, onChange, onRemove }: GrantFieldsProps) {
  const title = `Grant ${number}`
  return (
    <Field label={title}>
      <PermissionMatrix grant={grant} caption={`${title}: resources and actions`} onChange={onChange} />
      {onChange ? (
        <>
          <Names
            what="device"
            names={grant.devices}
            placeholder="LAMP-1, LAMP-2"
            onChange={(devices) => onChange({ ...grant, devices })}
          />
          <Names
            what="service"
            names={grant.services}
            placeholder="climate"
            onChange={(services) => onChange({ ...grant, services })}
          />
        </>
      ) : (
        <p>
          On {namesText(grant.devices, 'device')}, {namesText(grant.services, 'service')}.
        </p>
      )}
      {onRemove && (
        <Button kind="quiet" onPress={onRemove} label={`Remove grant ${number}`}>
          Remove this grant
        </Button>
      )}
    </Field>
  )
}

/** All names, or a list. */
function Names({
  what,
  names,
  placeholder,
  onChange,
}: {
  readonly what: 'device' | 'service'
  readonly names: readonly string[]
  readonly placeholder: string
  readonly onChange: (names: string[]) => void
}) {
  const isAll = names.includes('*')
  // The text as typed: a comma at the end begins the next name.
  const [text, setText] = useState(isAll ? '' : names.join('\n'))
  return (
    <>
      <Checkbox label={`All ${what}s`} isChecked={isAll} onChange={(isOn) => onChange(isOn ? ['*'] : namesIn(text))} />
      {!isAll && (
        <TextField
          label={what === 'device' ? 'Devices' : 'Services'}
          hint="One for each line, or separated by commas. They need not exist yet."
          rows={3}
          isCode
          placeholder={placeholder}
          value={text}
          onInput={(typed) => {
            setText(typed)
            onChange(namesIn(typed))
          }}
        />
      )}
    </>
  )
}

/**
 * The permissions of a grant: a checkbox for each resource and action. A box that a wildcard box implies is shown as
 * ticked.
 */
function PermissionMatrix({
  grant,
  caption,
  onChange,
}: {
  readonly grant: Grant
  readonly caption: string
  /** Absent: read-only. */
  readonly onChange?: ((grant: Grant) => void) | undefined
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section class="table-frame" aria-label={caption} tabIndex={0}>
      <table class="table matrix">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Resource</th>
            {actionColumns.map((action) => (
              <th key={action} scope="col">
                {nameOf(action)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {resourceRows.map(({ resource, name, meaning }) => (
            <tr key={resource}>
              <th scope="row">
                {name} <small class="soft">{meaning}</small>
              </th>
              {actionColumns.map((action) => {
                const ticked = tickedOf(grant, resource, action)
                return (
                  <td key={action}>
                    <label title={ticked === 'implied' ? 'included in a wildcard' : undefined}>
                      <input
                        type="checkbox"
                        aria-label={`${nameOf(action)} on ${name}`}
                        checked={ticked !== undefined}
                        disabled={!onChange || ticked === 'implied'}
                        onChange={() => onChange?.(toggled(grant, resource, action))}
                      />
                    </label>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function nameOf(action: string): string {
  return action === '*' ? 'any action' : action
}
