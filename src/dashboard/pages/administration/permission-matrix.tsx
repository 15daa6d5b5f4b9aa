import { actionColumns, resourceRows, tickedOf, toggled } from '#dashboard/pages/administration/grants'
import type { Grant } from '#model/scope'

/** What a grant gives: a box for each resource and action. One that a wider box ticks stands ticked, and is not its own. */
export function PermissionMatrix({
  grant,
  caption,
  onChange,
}: {
  readonly grant: Grant
  readonly caption: string
  /** Absent: only to be read. */
  readonly onChange?: ((grant: Grant) => void) | undefined
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
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
                    <label title={ticked === 'implied' ? 'given by a wider box' : undefined}>
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
